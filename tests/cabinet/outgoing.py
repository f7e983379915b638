"""Outgoing e-mail in tests: send it in this process, choose its server, and wait."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from tests.support.waiting import wait_until


@contextmanager
def sending() -> Iterator[None]:
    """Send e-mails in this process, as each cabinet worker does."""
    from readback.cabinet.mail import notices, outbox

    sender = outbox.Sender(notices.add_due_reminders)
    try:
        with patch.object(outbox, "POLL_SECONDS", 0.01):
            sender.start()
            yield
    finally:
        sender.stop()
        # Wait longer than a shutdown does: the next test has another database.
        wait_until(lambda: not _senders(), "no sender runs")


def _senders() -> list[threading.Thread]:
    from readback.cabinet.mail.outbox import Sender

    return [each for each in threading.enumerate() if isinstance(each, Sender)]


@contextmanager
def mail_server_at(url: str) -> Iterator[None]:
    """Use another mail server; without a URL, e-mails are printed to the terminal."""
    from django.conf import settings
    from django.test import override_settings

    from readback.cabinet.mail import backends

    config = replace(settings.CONFIG, smtp_url=url)
    with override_settings(CONFIG=config, **backends.settings(url)):
        yield


def wait_until_sent() -> None:
    """Wait until the outbox is empty."""
    from readback.cabinet.mail import outbox

    wait_until(lambda: not outbox.waiting()["waiting"], "the outbox is empty")
