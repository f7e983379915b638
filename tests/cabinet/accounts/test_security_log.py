"""The security log: its events, and what it must never contain."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

import readback.cabinet
from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import User
from tests.cabinet.accounts.test_password_reset import choose
from tests.cabinet.visitor import PASSWORD, Visitor
from tests.support.mailbox import link_in

ALICE = "alice@example.org"
NEW = "another lamp, another harbour"

pytestmark = pytest.mark.usefixtures("unsent_mails")


def test_the_events_of_an_account_are_logged_without_its_secrets(log, mails):
    visitor = Visitor(address="203.0.113.7")
    visitor.sign_up(ALICE)
    visitor.send(link_in(mails.wait_for(ALICE, "Confirm")))
    alice = User.objects.get()
    visitor.post("/accounts/logout/")
    visitor.log_in(ALICE, "not the password at all")
    visitor.log_in("nobody@example.org")
    visitor.log_in(ALICE)
    visitor.send("/keys/", {"label": "the label of alice"})
    key = alice.keys.get()
    visitor.send(f"/keys/{key.pk}/revoke/", page="/account/")
    Visitor().send("/accounts/password/reset/", {"email": ALICE})
    link = link_in(mails.wait_for(ALICE, "Set a new password"))
    choose(Visitor(), link)
    account_services.account_deactivate(alice)
    account_services.account_activate(alice)
    again = Visitor()
    again.log_in(ALICE, NEW)
    again.send("/account/delete/", {"email": ALICE})

    assert [line["event"] for line in log.events] == [
        "account_created",
        "email_confirmed",
        "login",
        "logout",
        "login_failed",
        "login_failed",
        "login",
        "key_created",
        "key_revoked",
        "password_reset_requested",
        "password_reset",
        "account_deactivated",
        "account_activated",
        "login",
        "account_deleted",
    ]
    _assert_lines_are_complete(log, alice.pk)
    assert log.last("key_created")["key"] == log.last("key_revoked")["key"] == key.pk
    secrets = [ALICE, PASSWORD, NEW, "label of alice", link, "sk-echo-"]
    for secret in [*secrets, bytes(key.digest).hex(), link.rpartition("-")[2]]:
        assert not any(secret in text for text in log.texts), secret


def _assert_lines_are_complete(log, account: int) -> None:
    for line in log.events:
        assert set(line) == {"time", "event", "account", "key", "by", "ip"}
        assert datetime.fromisoformat(line["time"]).utcoffset() == timedelta()
    known = [line for line in log.events if line["account"] is not None]
    assert {line["account"] for line in known} == {account}
    assert len(known) == len(log.events) - 1  # nobody@ has no account
    assert log.last("account_deactivated")["ip"] is None
    assert log.last("login")["ip"] == "203.0.113.7"


def test_user_input_cannot_forge_a_log_line(log):
    forged = 'x@example.org\n{"event": "login", "account": 1}'
    Visitor().log_in(forged, "wrong\r\n" * 3)
    Visitor().log_in(ALICE, forged, headers={"user-agent": forged})

    for text in log.texts:
        assert "\n" not in text and "\r" not in text
        assert json.loads(text)["event"] == "login_failed"


def test_too_many_attempts_are_logged(log):
    account_services.account_create(ALICE, PASSWORD, confirmed=True)
    for _ in range(6):
        Visitor(address="203.0.113.5").log_in(ALICE, "not the password")

    assert log.last("login_limited")["ip"] == "203.0.113.5"


def test_no_table_and_no_mail_contains_a_key_or_a_password(mails):
    visitor = Visitor()
    visitor.sign_up(ALICE)
    link = link_in(mails.wait_for(ALICE, "Confirm"))
    visitor.send(link)
    text = key_services.key_create(User.objects.get(), "mine").text
    found = _everything_stored()
    assert ALICE in found
    for secret in (text, text[8:40], PASSWORD):
        assert secret not in found
        assert not any(secret in mail.as_string() for mail in mails.messages)


def _everything_stored() -> str:
    stored = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            stored += [str(value) for row in cursor.fetchall() for value in row]
    return "\n".join(stored)


def test_every_event_is_documented():
    package = Path(readback.cabinet.__file__).parent
    code = "".join(path.read_text() for path in package.rglob("*.py"))
    events = set(re.findall(r'record\(\s*"(\w+)"', code))
    page = (package.parents[2] / "docs" / "monitoring.md").read_text()

    assert len(events) >= 15
    assert {event for event in events if f"`{event}`" not in page} == set()
