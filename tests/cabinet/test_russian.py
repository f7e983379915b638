"""Account pages and e-mails are fully Russian, including allauth's texts."""

import re

import pytest

from readback.cabinet.keys import services as key_services
from tests.cabinet.accounts.test_mail_texts import MAILS, rendered
from tests.cabinet.visitor import Visitor, words_of

ALICE = "alice@example.org"
# Latin words that Russian texts may contain: names, abbreviations and parts of
# addresses.
FOREIGN = {
    *("Readback", "English", "API", "http", "v", "alice", "example", "org", "UTC"),
    *("cookie", "IP", "ip", "sk", "echo", "https", "laptop", "mallory", "net"),
    # The `x` is the end of a shortened network address.
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


def test_every_account_page(alice):
    owner = Visitor(language="ru")
    owner.log_in(ALICE)
    for path in ACCOUNT_PAGES:
        page = owner.get(path)
        assert latin_in(words_of(page).replace(ALICE, "")) == set(), path


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
