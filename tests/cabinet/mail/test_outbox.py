"""The outbox: e-mails are sent at least once and in time; no secret is stored."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone

from readback.cabinet.accounts import services
from readback.cabinet.mail import outbox
from readback.cabinet.models import OutgoingMail
from readback.cabinet.storage.sealing import seal
from tests.cabinet.accounts.test_security_log import _everything_stored
from tests.cabinet.outgoing import mail_server_at, sending, wait_until_sent
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import PASSWORD, Visitor
from tests.cabinet.which_database import BOTH, ON_SQLITE
from tests.support.bad_mail_servers import refusing_mailbox, server_that_is_down
from tests.support.mailbox import link_in
from tests.support.waiting import wait_until

DATABASES = BOTH

ALICE, BOB = "alice@example.org", "bob@example.org"
DAY = timedelta(days=1)
NOTICE = "account/email/account_deleted"

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def fast_retries(monkeypatch) -> None:
    for name in ("_LONGEST_DELAY_SECONDS", "_LONGEST_PAUSE_SECONDS"):
        monkeypatch.setattr(outbox, name, 0.01)


@pytest.fixture
def log(monkeypatch) -> list[str]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    monkeypatch.setattr(outbox._log, "handlers", [handler])
    monkeypatch.setattr(outbox._log, "propagate", False)
    return lines


def add(address: str = ALICE, lifetime: timedelta = DAY) -> None:
    outbox.add(NOTICE, address, lifetime, details={"ip": ""})


def test_several_senders_send_each_mail_once(mail_server):
    mail_server.messages.clear()
    addresses = [f"alice{n}@example.org" for n in range(30)]
    for address in addresses:
        add(address)

    claimed: list[str] = []

    def claim_all() -> None:
        while (mail := outbox.claim()) is not None:
            claimed.append(mail.address)

    in_parallel(claim_all, 4)
    assert sorted(claimed) == sorted(addresses)
    # While the claims last, no sender gets the e-mails again.
    assert outbox.claim() is None


def test_a_late_sender_does_not_postpone_the_mail_of_another(mail_server):
    add()
    late = outbox.claim()
    OutgoingMail.objects.update(due_at=timezone.now())
    current = outbox.claim()

    outbox.postpone(late)

    assert OutgoingMail.objects.get().due_at == current.due_at


def test_mails_wait_while_the_server_is_down_and_go_out_when_it_is_back(
    mails, fast_retries, log
):
    with server_that_is_down() as url, mail_server_at(url):
        for address in (ALICE, BOB):
            add(address)
        wait_until(
            lambda: OutgoingMail.objects.filter(attempts__gte=2).count() == 2,
            "both mails were tried twice",
        )

    wait_until_sent()
    assert len(mails.to(ALICE)) == len(mails.to(BOB)) == 1
    wait_until(lambda: len(log) == 2, "both lines are logged")
    # A line is logged when the server stops working, and another when it works again.
    assert log == [
        "Mails wait in the outbox. The mail server failed: ConnectionRefusedError.",
        "Mail can be sent again.",
    ]


@ON_SQLITE
def test_a_failure_of_the_server_is_logged_also_after_the_periodic_work_has_failed(
    mail_server, fast_retries, log
):
    failures = iter((RuntimeError(), OperationalError()))

    def fail_twice() -> None:
        if error := next(failures, None):
            raise error

    sender = outbox.Sender(fail_twice)
    for _ in range(2):
        sender._next_work = 0.0
        sender._work()
    sender._work()
    for _ in range(2):
        add()
        with server_that_is_down() as url, mail_server_at(url):
            sender._work()
            OutgoingMail.objects.update(due_at=timezone.now())
            sender._work()
        OutgoingMail.objects.update(due_at=timezone.now())
        with mail_server_at(mail_server.url):
            sender._work()

    first, *others = log
    assert "The mail sender failed: RuntimeError" in first
    assert others == 2 * [
        "Mails wait in the outbox. The mail server failed: ConnectionRefusedError.",
        "Mail can be sent again.",
    ]


@ON_SQLITE
def test_a_refused_mail_is_dropped_and_others_are_sent(log):
    with refusing_mailbox() as box, mail_server_at(box.url), sending():
        box.answers[ALICE] = f"550 {ALICE} is unknown"
        for address in (ALICE, BOB):
            add(address)
        wait_until_sent()

        assert box.asked.count(ALICE) == 1
        assert len(box.to(BOB)) == 1
    assert (outbox.totals()["refused"], outbox.totals()["sent"]) == (1, 1)
    [line] = log
    assert "of account none: the mail server refused it: 550" in line
    assert ALICE not in line


@ON_SQLITE
def test_a_mail_that_is_refused_for_now_is_tried_again(fast_retries, log):
    with refusing_mailbox() as box, mail_server_at(box.url), sending():
        box.answers[ALICE] = "450 greylisted, try again later"
        add()
        wait_until(lambda: box.asked.count(ALICE) == 3, "three attempts")
        del box.answers[ALICE]
        wait_until_sent()

        assert len(box.to(ALICE)) == 1
    assert log == []


@ON_SQLITE
def test_a_mail_that_was_sealed_with_another_secret_key_is_dropped(mails, log):
    with override_settings(SECRET_KEY="another-secret-key-" * 4):
        OutgoingMail.objects.create(
            template=NOTICE,
            address=ALICE,
            sealed=seal("[]"),
            expires_at=timezone.now() + DAY,
        )
    wait_until_sent()

    assert mails.messages == []
    wait_until(lambda: log, "the reason is logged")
    assert "sealed with another READBACK_SECRET_KEY" in log[0]


def test_an_expired_mail_is_not_sent(mails, log):
    add(lifetime=timedelta(0))
    wait_until_sent()

    assert mails.messages == []
    assert outbox.totals()["expired"] == 1
    wait_until(lambda: log, "the reason is logged")
    assert "it waited too long" in log[0]


def reset() -> None:
    Visitor().send("/accounts/password/reset/", {"email": ALICE})


def test_no_secret_is_in_the_database(mail_server, database_url):
    """Search every table, and the file, for the tokens in the e-mails."""
    mail_server.messages.clear()
    services.account_create(ALICE, PASSWORD, confirmed=True)
    with mail_server_at(mail_server.url):
        reset()
        Visitor().sign_up(BOB)
        before = _everything_stored() + _file_of(database_url)
        with sending():
            wait_until_sent()
    after = _everything_stored() + _file_of(database_url)

    assert BOB in before
    for address in (ALICE, BOB):
        token = link_in(mail_server.wait_for(address)).rstrip("/").rpartition("/")[2]
        parts = (token, token.partition("-")[2], token.rpartition(":")[2])
        # A short part could occur anywhere by chance.
        long = [part for part in parts if len(part) > 10]
        assert token in long
        assert not [part for part in long if part in before + after]


def _file_of(url: str) -> str:
    """Return the bytes of SQLite's files as text; PostgreSQL's are not searched."""
    if not url.startswith("sqlite"):
        return ""
    path = Path(url.removeprefix("sqlite:///"))
    files = [path, path.with_name(f"{path.name}-wal")]
    return "".join(each.read_bytes().decode("latin-1") for each in files)


def test_a_mail_that_two_senders_have_sent_is_counted_once():
    add()
    mail = outbox.claim()

    outbox.finish(mail, outbox.MailOutcome.SENT)
    outbox.finish(mail, outbox.MailOutcome.SENT)  # by the sender whose claim had ended

    assert outbox.totals()["sent"] == 1
