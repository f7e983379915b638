"""Account pages and e-mails are fully Russian, including allauth's texts."""

import re

import pytest
from allauth.account.models import EmailAddress

from readback.cabinet import mail_rendering, services
from readback.cabinet.models import OutgoingMail, User
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

ALICE = "alice@example.org"
# Names, abbreviations and the parts of addresses.
FOREIGN = {
    *("Readback", "English", "API", "http", "v", "alice", "example", "org", "UTC"),
    *("cookie", "IP", "ip", "sk", "echo", "https", "laptop"),
}

pytestmark = pytest.mark.usefixtures("mails")


@pytest.fixture
def alice(mails) -> User:
    return services.account_create(ALICE, PASSWORD, confirmed=True)


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
    "/account/delete/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/logout/",
    "/accounts/reauthenticate/",
    "/admin/no-such-page",
]


def test_every_public_page():
    visitor = Visitor(language="ru")
    for path in PUBLIC_PAGES:
        assert latin_in(words_of(visitor.get(path))) == set(), path


def test_every_account_page(alice):
    owner = Visitor(language="ru")
    owner.log_in(ALICE)
    for path in ACCOUNT_PAGES:
        page = owner.get(path)
        assert latin_in(words_of(page).replace(ALICE, "")) == set(), path


def test_every_form_error(alice, settings_without_limits):
    visitor, owner = Visitor(language="ru"), Visitor(language="ru")
    owner.log_in(ALICE)
    new = {"password1": "a bell in the fog", "password2": "another bell"}
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


MAILS = [
    "account_already_exists",
    "account_deleted",
    "email_changed",
    "email_confirmation",
    "email_confirmation_signup",
    "email_deleted",
    "key_created",
    "key_expires",
    "key_revoked",
    "key_rotated",
    "password_changed",
    "password_reset",
    "password_reset_key",
    "password_set",
    "unknown_account",
]


@pytest.mark.parametrize("ip", ["192.0.2.1", ""])
def test_every_mail(alice, ip):
    key = services.key_create(alice).key
    EmailAddress.objects.update(verified=False)
    details = {"ip": ip, "key": "sk-echo-…1234 (laptop)"}
    details |= {"key_id": str(key.pk), "new_key": "", "expires": "2026-11-16 10:00"}
    details |= dict.fromkeys(("from_email", "to_email", "deleted_email"), ALICE)
    for name in MAILS:
        mail = mail_rendering.render(
            OutgoingMail(
                template=f"account/email/{name}",
                account=alice,
                address=ALICE,
                language="ru",
                details=details,
            )
        )
        text = re.sub(r"http\S+", "", f"{mail.subject} {mail.body}")
        assert latin_in(text) == set(), name
        assert re.search("[а-я]", text)
