"""Every e-mail has the right link and advice, and its HTML is simple and safe.

Add each new e-mail to `MAILS`, with the details that it is rendered with.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from allauth.account.models import EmailConfirmationHMAC
from django.test import override_settings

import readback.cabinet
from readback.cabinet.accounts import selectors, services
from readback.cabinet.mail import rendering
from readback.cabinet.mail.rendering import RenderedMail
from readback.cabinet.models import Key, User
from readback.config import Config
from tests.cabinet.visitor import CABINET, PASSWORD, Visitor

ALICE, MALLORY = "alice@example.org", "mallory@example.net"
BOB = "bob@example.net"
TEMPLATES = Path(readback.cabinet.__file__).parent / "templates"
KEY = {"key": "sk-echo-…1234 (laptop)", "key_id": "1"}
EXPIRY = {"new_key": "", "expires": "2026-11-16 10:00", "used": "2026-11-10 10:00"}
NOT_YOU = "If it was not you, "
RESET = "/accounts/password/reset/"
FACTORS = "/account/second-factor/"
SECURE = "Change your password"
FACTOR = {"factor": "passkey", "name": "laptop"}


class Sample(NamedTuple):
    """An e-mail's link and advice, and the details and address to render it with."""

    link: str | None
    advice: str = ""
    details: dict[str, str] = {}  # noqa: RUF012
    address: str = ALICE


MAILS = {
    "account_already_exists": Sample("/accounts/login/", "ignore this e-mail"),
    "account_deleted": Sample(
        "/accounts/signup/", "someone else had access to your account"
    ),
    "email_changed": Sample(
        None, "contact the operator", {"from_email": ALICE, "to_email": MALLORY}
    ),
    "email_confirmation": Sample("/accounts/confirm-email/", "ignore this e-mail"),
    "email_confirmation_signup": Sample(
        "/accounts/confirm-email/", "ignore this e-mail"
    ),
    "email_deleted": Sample(
        "/account/", "Change your password", {"deleted_email": MALLORY}
    ),
    "invitation": Sample(
        f"{RESET}key/", "ignore this e-mail", {"by": ALICE, "days": "7"}, BOB
    ),
    "key_created": Sample("/keys/1/", "Revoke the key", KEY),
    "key_expires": Sample("/keys/1/", "you do not have to do anything", KEY | EXPIRY),
    "key_rotated": Sample("/keys/1/", "revoke the new key", KEY | EXPIRY),
    "key_revoked": Sample("/keys/", "create a new key", KEY),
    "password_changed": Sample(RESET, "set a new password now"),
    "password_reset": Sample(RESET, "Secure your mailbox first"),
    "password_reset_key": Sample(f"{RESET}key/", "your password does not change"),
    "password_set": Sample(RESET, "set a new password now"),
    "provider_connected": Sample(
        "/account/", "contact the operator", {"provider": "SSO"}
    ),
    "provider_disconnected": Sample(
        "/accounts/login/", "tell the operator", {"provider": "SSO"}
    ),
    "recovery_code_used": Sample(FACTORS, SECURE, {"left": "9"}),
    "recovery_codes_created": Sample(FACTORS, SECURE),
    "second_factor_added": Sample(FACTORS, SECURE, FACTOR),
    "second_factor_removed": Sample(FACTORS, SECURE, FACTOR),
    "second_factor_reset": Sample(RESET, "set a new password now"),
    "unknown_account": Sample("/accounts/signup/", "ignore this e-mail"),
}
# Notices of changes that an operator can also make.
NOTICES = [
    *("account_deleted", "email_deleted", "key_created", "key_revoked", "key_rotated"),
    *("password_changed", "password_reset", "password_set"),
    *("recovery_codes_created", "second_factor_added", "second_factor_removed"),
]


@pytest.fixture
def alice(database) -> User:
    alice = services.account_create(ALICE, PASSWORD)
    services.account_activate(alice)
    alice.save()
    Key.objects.create(pk=1, owner=alice, digest=b"", last_four="1234")
    return alice


def rendered(
    name: str, account: User, language: str = "en", ip: str = "192.0.2.1"
) -> RenderedMail:
    link = ""
    if "confirmation" in name:
        key = EmailConfirmationHMAC(account.emailaddress_set.get()).key
        link = rendering.absolute_url("account_confirm_email", key=key)
    elif name in ("password_reset_key", "invitation"):
        link = selectors.password_reset_link(account)
    sample = MAILS[name]
    template = f"account/email/{name}"
    details = {"ip": ip, **sample.details}
    return rendering.render(template, sample.address, language, details, link)


class Markup(HTMLParser):
    """An e-mail's links with classes; fails if a tag is unclosed or loads a file."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("img", "link", "script", "iframe", "object"), tag
        values = dict(attrs)
        assert not {"src", "srcset", "background", "poster"} & set(values)
        if tag == "a":
            self.links.append((values.get("class") or "", values["href"] or ""))
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_every_template_is_in_the_list():
    paths = [*TEMPLATES.glob("**/email/*_message.*"), *TEMPLATES.glob("**/*_subject.*")]
    prefix = re.compile(r"_(message|subject)\.txt$")
    found = {prefix.sub("", str(path.relative_to(TEMPLATES))) for path in paths}

    assert found == {f"account/email/{name}" for name in MAILS}
    assert set(rendering.ACTIONS) <= set(MAILS)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_text_and_html_are_complete_and_load_nothing(alice, language):
    for name, sample in MAILS.items():
        for ip in ("192.0.2.1", ""):
            message = rendered(name, alice, language, ip)
            html = message.html
            assert 10 < len(message.subject) <= 50 and "\n" not in message.subject
            for part in (message.subject, message.text, html):
                assert not re.search(r"{[{%#]|[%#}]}|None|\n\n\n", part), (name, part)
            assert not re.search(r"url\(|@import|javascript:", html)
            urls = set(re.findall(r"https?://[^\s\"<]+", message.text + html))
            assert len(urls) <= 1, name
            assert all(url.startswith(f"{CABINET}/") for url in urls)
            _assert_button(name, message, sample)


def _assert_button(name: str, message: RenderedMail, sample: Sample) -> None:
    """Check that the text has the bare URL, and the HTML a button and the URL below."""
    markup = Markup(message.html)
    body = message.text
    lines = [line for line in body.splitlines() if line.startswith("http")]
    if not lines:
        assert sample.link is None or "192.0.2.1" not in body, name
        assert markup.links == []
        return
    [url] = lines
    assert url.startswith(f"{CABINET}{sample.link}"), name
    assert body.splitlines()[body.splitlines().index(url) - 1].endswith(":")
    assert markup.links == [("button", url), ("", url)]
    assert f">{url}<" in message.html


def test_each_says_what_to_do_if_it_was_someone_else(alice):
    for name, sample in MAILS.items():
        assert sample.advice in rendered(name, alice).text, name
    for name in NOTICES:
        assert NOT_YOU in rendered(name, alice).text, name
        by_operator = rendered(name, alice, ip="").text
        assert "The operator of the service did this" in by_operator
        assert NOT_YOU not in by_operator


def test_each_link_opens_a_page_where_its_reader_can_act(alice):
    reader = Visitor()
    for name, sample in MAILS.items():
        if sample.link is None:
            continue
        lines = str(rendered(name, alice).text).splitlines()
        [url] = [line for line in lines if line.startswith("http")]
        page = reader.get(url)
        needs_login = sample.link.startswith(("/keys/", "/account/"))
        if needs_login:
            path = url.removeprefix(CABINET)
            assert page.headers["Location"] == f"/accounts/login/?next={path}"
        else:
            # A reset link first removes its token from the address bar.
            assert page.status_code == (302 if "/reset/key/" in url else 200), name


def test_the_operators_contact_is_named_where_only_the_operator_can_help(alice):
    config = Config(contact="mailto:operator@example.org")
    with override_settings(CONFIG=config):
        for name in ("account_deleted", "email_changed"):
            body = rendered(name, alice, ip="").text
            assert "contact the operator: operator@example.org" in body


def test_the_mail_about_a_recovery_code_warns_when_few_are_left(alice):
    for left, warns in (("9", False), ("4", False), ("3", True), ("0", True)):
        name = "account/email/recovery_code_used"
        details = {"left": left}
        body = rendering.render(name, ALICE, "en", details, "").text
        assert f"Codes left: {left}." in body
        assert ("Create new codes" in body) == warns, left
