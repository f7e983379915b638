"""The thread that sends the mails of the outbox; each worker of the cabinet has one.

Now and then it also looks for keys that expire soon and adds reminders to the outbox,
and does what else its caller wants to be done now and then.
It starts after gunicorn has forked the worker, because threads do not survive a fork.
Any number of senders may run, on any number of machines: see `outbox.py`.
"""

import logging
import random
import smtplib
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

from django.core.mail import EmailMultiAlternatives
from django.db import close_old_connections, connections
from django.utils import timezone

from readback import logs
from readback.cabinet.mail import notices, outbox
from readback.cabinet.models import MailOutcome, OutgoingMail

_log = logging.getLogger("readback.cabinet.mail_sender")

# How often to look for mails that another process has added, or that are due again.
_POLL_SECONDS = 1.0
# How often to look for keys that expire soon.
REMINDER_SECONDS = 300.0
# The longest time until one mail, and until a server that failed, is tried again.
_LONGEST_DELAY_SECONDS = 300.0
_LONGEST_PAUSE_SECONDS = 60.0
# How long a stop waits for a mail that is just being sent.
_STOP_SECONDS = 2.0

# Returns a mail as its reader gets it, or None if it would be of no use any more.
Render = Callable[[OutgoingMail], EmailMultiAlternatives | None]

# Does what is due; returns whether there may be more.
Round = Callable[[], bool]


class Sender(Thread):
    """Sends one mail after the other. While the server fails, it pauses in between."""

    def __init__(self, render: Render, *rounds: Round) -> None:
        super().__init__(name="mail-sender", daemon=True)
        self._render = render
        self._rounds = (notices.add_due_reminders, *rounds)
        self._stopping = Event()
        self._failures = 0
        self._next_reminders = 0.0

    def stop(self) -> None:
        """Stop sending; a mail that is cut off here is sent again later."""
        self._stopping.set()
        outbox.added.set()
        self.join(_STOP_SECONDS)

    def run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = self._work()
        connections.close_all()

    def _work(self) -> float:
        """Send a mail that is due, or wait for one; return how long to pause then."""
        try:
            close_old_connections()
            self._remind()
            mail = outbox.claim()
            if mail is None:
                outbox.added.wait(_POLL_SECONDS)
                outbox.added.clear()
                return 0.0
            self._send(mail)
        except OSError as error:  # includes the exceptions of smtplib
            # The exception's text may contain an address or the server's reply to it.
            self._fail(f"The mail server failed: {type(error).__name__}.")
        except Exception as error:
            self._fail(f"The sender failed: {logs.describe_error(error)}")
        return _delay(self._failures, _LONGEST_PAUSE_SECONDS) if self._failures else 0.0

    def _remind(self) -> None:
        """Do the rounds, such as that of reminders, if it is time for them again."""
        now = time.monotonic()
        if now >= self._next_reminders:
            # Before anything can fail, so that an error does not keep mails waiting.
            self._next_reminders = now + REMINDER_SECONDS
            if any(is_more() for is_more in self._rounds):
                self._next_reminders = now

    def _send(self, mail: OutgoingMail) -> None:
        if mail.expires_at <= timezone.now():
            _drop(mail, MailOutcome.EXPIRED, "it waited too long")
            return
        rendered = self._render(mail)
        if rendered is None:
            outbox.finish(mail, MailOutcome.UNNEEDED)
            return
        try:
            rendered.send()
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as refusal:
            code = _code(refusal)
            if code >= 500:
                _drop(mail, MailOutcome.REFUSED, f"the mail server refused it: {code}")
            else:
                _postpone(mail)
        except Exception:
            _postpone(mail)
            raise
        else:
            outbox.finish(mail, MailOutcome.SENT)
        if self._failures:
            _log.warning("Mail can be sent again.")
        self._failures = 0

    def _fail(self, reason: str) -> None:
        if not self._failures:
            _log.error("Mails wait in the outbox. %s", reason)
        self._failures += 1


def _code(refusal: smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError) -> int:
    """Return the status of the only recipient, or of the mail as a whole."""
    if isinstance(refusal, smtplib.SMTPDataError):
        return refusal.smtp_code
    return max(code for code, _text in refusal.recipients.values())


def _drop(mail: OutgoingMail, outcome: MailOutcome, reason: str) -> None:
    outbox.finish(mail, outcome)
    # By its id, operators find the account; invitations have none.
    account = mail.account_id or mail.details.get("account", "none")
    _log.error("Dropped mail %s of account %s: %s.", mail, account, reason)


def _postpone(mail: OutgoingMail) -> None:
    delay = _delay(mail.attempts + 1, _LONGEST_DELAY_SECONDS)
    outbox.postpone(mail, timedelta(seconds=delay))


def _delay(failures: int, longest: float) -> float:
    """Return 1, 2, 4, … seconds up to the longest, each shortened by up to a half."""
    # The exponent is bounded, because a float is; after days it would overflow. The
    # random part keeps senders that failed together from trying together.
    return min(2.0 ** min(failures - 1, 20), longest) * random.uniform(0.5, 1)
