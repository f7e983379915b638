"""Account pages and e-mails are fully Russian, including allauth's texts."""

import re

import pytest
from django.utils import translation

from readback.cabinet.accounts.invitations import account_invite
from readback.cabinet.keys import services as key_services
from tests.cabinet.accounts.test_mail_texts import MAILS, rendered
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import Visitor, words_of
from tests.support.mailbox import text_of as text_of_mail

DATABASES = ["sqlite"]

ALICE = "alice@example.org"
# Names, abbreviations and the parts of addresses.
FOREIGN = {
    *("Readback", "English", "API", "http", "v", "alice", "example", "org", "UTC"),
    *("cookie", "IP", "ip", "sk", "echo", "https", "laptop", "mallory", "net"),
    # The last one is the end of a shortened network address.
    *("JSON", "localhost", "QR", "PIN", "JavaScript", "x"),
}

pytestmark = pytest.mark.usefixtures("unsent_mails")


def latin_in(text: str) -> set[str]:
    return set(re.findall("[A-Za-z]+", text)) - FOREIGN


PUBLIC_PAGES = [
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/confirm-email/",
    "/accounts/confirm-email/abc/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    "/accounts/password/reset/key/1-abc/",
    "/accounts/password/reset/key/done/",
    "/accounts/inactive/",
    "/no-such-page",
]
ACCOUNT_PAGES = [
    "/account/",
    "/account/data/",
    "/account/delete/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/logout/",
    "/accounts/reauthenticate/",
    "/accounts/reauthenticate/login/",
    "/account/second-factor/",
    "/account/second-factor/webauthn/add/",
    "/account/sessions/",
    "/admin/no-such-page",
]


def test_every_public_page():
    visitor = Visitor(language="ru")
    for path in PUBLIC_PAGES:
        assert latin_in(words_of(visitor.get(path))) == set(), path


@pytest.mark.parametrize("mode", ["closed", "example.org"])
def test_how_to_get_an_account(mode):
    visitor = Visitor(language="ru")
    with sign_up_for(mode):
        pages = [visitor.get("/accounts/signup/"), visitor.get("/accounts/login/")]
        if mode == "example.org":
            pages.append(visitor.sign_up("alice@alice.example"))
    for page in pages:
        assert latin_in(words_of(page)) == set()


def test_an_invitation(mails):
    with translation.override("ru"):
        account_invite("laptop@example.org")
    mail = mails.wait_for("laptop@example.org")
    text = f"{mail['Subject']} {text_of_mail(mail)}"

    assert latin_in(re.sub(r"http\S+", "", text)) == {"OpenAI"}


def test_every_account_page(alice):
    owner = Visitor(language="ru")
    owner.log_in(ALICE)
    for path in ACCOUNT_PAGES:
        page = owner.get(path)
        assert latin_in(words_of(page).replace(ALICE, "")) == set(), path


def test_the_page_that_adds_an_app(alice):
    owner = Visitor(language="ru")
    owner.log_in(ALICE)

    page = owner.get("/account/second-factor/totp/activate/")

    assert latin_in(words_of(page)) == set()


def test_every_form_error(alice, settings_without_limits):
    visitor, owner = Visitor(language="ru"), Visitor(language="ru")
    owner.log_in(ALICE)
    new = {"password1": "a bell in the fog"}
    pages = [
        visitor.sign_up("", ""),
        visitor.sign_up("nonsense", "short"),
        visitor.sign_up("x" * 300 + "@example.org", "readbackreadback"),
        visitor.sign_up(ALICE, ALICE),
        visitor.sign_up(ALICE, "1234567890123"),
        visitor.log_in(ALICE, "not the password"),
        visitor.send("/accounts/password/reset/", {"email": "@"}),
        owner.send("/accounts/password/change/", {"oldpassword": "x", **new}),
        owner.send("/accounts/email/", {"email": ALICE, "action_add": ""}),
        owner.send("/account/delete/", {"password": "not the password"}),
        visitor.client.post("/accounts/login/"),
    ]
    for page in pages:
        shown = re.sub(r'value="[^"]*"', "", page.content.decode())
        assert page.status_code in (200, 403)
        assert "errorlist" in shown or page.status_code == 403
        assert latin_in(words_of(page)) == set()


def test_error_pages():
    visitor = Visitor(language="ru")
    for n in range(11):
        last = visitor.log_in(f"nobody{n}@example.org", "not the password")
    assert last.status_code == 429
    assert latin_in(words_of(last)) == set()
    refused = visitor.get("/", headers={"host": "evil.example"})
    assert refused.status_code == 400


@pytest.mark.parametrize("ip", ["192.0.2.1", ""])
def test_every_mail(alice, ip):
    key_services.key_create(alice)
    for name in MAILS:
        mail = rendered(name, alice, "ru", ip)
        text = re.sub(r"http\S+", "", f"{mail.subject} {mail.text}")
        assert latin_in(text) <= {"OpenAI", "SSO"}, name
        assert re.search("[а-я]", text)
