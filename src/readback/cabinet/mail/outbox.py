"""The outbox: e-mails that wait in the database, and the thread that sends them.

Each cabinet worker has a sender, on any number of machines. A sender claims an e-mail
by moving its due time into the future; if the sender dies, the e-mail becomes due
again. From time to time, a sender also does other work, such as adding reminders. The
subject and the body are rendered when an e-mail is added, and stored encrypted, because
a link to set a password is as good as the password.

E-mails are limited per mailbox, per sender, and per sender and mailbox. Those that
anyone can request are counted separately from notices to an account's owner: otherwise,
a stranger who requests many could prevent a notice. The counts do not depend on whether
an account exists. The limits are in the settings.
"""

import json
import logging
import random
import smtplib
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import Event, Thread
from typing import Any

from allauth.core import ratelimit
from django.core.mail import EmailMultiAlternatives
from django.db import close_old_connections, connections, transaction
from django.db.models import Count, F, Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone, translation

from readback import logs
from readback.cabinet.mail import rendering
from readback.cabinet.models import MailOutcome, MailTotal, OutgoingMail, User
from readback.cabinet.serving.visitors import network_of
from readback.cabinet.storage.sealing import InvalidToken, seal, unseal

# How long a notice is worth sending.
NOTICE_LIFETIME = timedelta(days=3)
# Longer than a sender usually works on one e-mail.
CLAIM_TIME = timedelta(seconds=60)

# How often to look for e-mails that are new, or due again.
POLL_SECONDS = 0.5
# How often to look for keys that expire soon, and for expired sessions to delete.
_PERIOD_SECONDS = 300.0
# The longest pauses before an e-mail and a failed mail server are tried again.
_LONGEST_DELAY_SECONDS = 300.0
_LONGEST_PAUSE_SECONDS = 60.0
# How long a shutdown waits for an e-mail that is being sent.
_STOP_SECONDS = 2.0

_log = logging.getLogger("readback.cabinet.mail_sender")


def add(
    template: str,
    address: str,
    lifetime: timedelta,
    *,
    account: User | None = None,
    details: Mapping[str, str] | None = None,
    language: str = "",
    link: str = "",
) -> None:
    """Add an e-mail, as part of the current transaction if there is one.

    The default language is the account's, or else the current page's. Without a link,
    the e-mail's button opens the page of the template's action.
    """
    if account:
        language = language or account.language
    language = language or translation.get_language() or "en"
    rendered = rendering.render(template, address, language, details or {}, link)
    OutgoingMail.objects.create(
        template=template,
        account=account,
        address=address,
        sealed=seal(json.dumps(rendered)),
        expires_at=timezone.now() + lifetime,
    )


def claim() -> OutgoingMail | None:
    """Claim the e-mail that has been due longest, so that no other sender takes it."""
    # Check first: on SQLite, the transaction below would delay all other writers.
    if not _due().exists():
        return None
    with transaction.atomic():
        mail = _due().select_for_update(skip_locked=True, of=("self",)).first()
        if mail is not None:
            mail.due_at = timezone.now() + CLAIM_TIME
            mail.save(update_fields=["due_at"])
    return mail


def postpone(mail: OutgoingMail) -> None:
    delay = timedelta(seconds=_delay(mail.attempts + 1, _LONGEST_DELAY_SECONDS))
    # If the claim has ended, the row may belong to another sender.
    claimed = OutgoingMail.objects.filter(pk=mail.pk, due_at=mail.due_at)
    claimed.update(due_at=timezone.now() + delay, attempts=F("attempts") + 1)


@transaction.atomic
def finish(mail: OutgoingMail, outcome: MailOutcome) -> None:
    deleted, _by_model = OutgoingMail.objects.filter(pk=mail.pk).delete()
    if deleted:  # otherwise another sender has finished it, and counted it
        MailTotal.objects.get_or_create(outcome=outcome)
        MailTotal.objects.filter(outcome=outcome).update(mails=F("mails") + 1)


def waiting() -> dict[str, Any]:
    return OutgoingMail.objects.aggregate(waiting=Count("pk"), since=Min("created_at"))


def totals() -> dict[str, int]:
    counted = dict(MailTotal.objects.values_list("outcome", "mails"))
    return {outcome: counted.get(outcome, 0) for outcome in MailOutcome.values}


def _due() -> QuerySet[OutgoingMail]:
    mails = OutgoingMail.objects.select_related("account").order_by("due_at")
    return mails.filter(due_at__lte=timezone.now())


def allow_request(request: HttpRequest, address: str) -> bool:
    """Count an e-mail that a visitor asks for; return whether it may be sent."""
    to = mailbox(address)
    is_account = request.user.is_authenticated
    sender = f"account {request.user.pk}" if is_account else network_of(request)
    by = "mail_by_account" if is_account else "mail_by_address"
    return (
        ratelimit.consume(request, action="mail_by_and_to", key=f"{sender} {to}")
        and ratelimit.consume(request, action="mail_to", key=to)
        and ratelimit.consume(request, action=by)
    )


def allow_notice(request: HttpRequest | None, address: str) -> bool:
    """Count a notice; return whether it may be sent. Commands have no limit."""
    if request is None:
        return True
    return ratelimit.consume(request, action="notice_to", key=mailbox(address))


def mailbox(address: str) -> str:
    """Return the address without its tag, so that each mailbox is counted only once.

    Most providers deliver alice+anything@example.org to alice@example.org.
    """
    local, _at, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


class Sender(Thread):
    """Sends due e-mails one at a time; pauses while the mail server fails."""

    def __init__(self, *periodic: Callable[[], None]) -> None:
        super().__init__(name="mail-sender", daemon=True)
        self._periodic = periodic
        self._stopping = Event()
        # Failures of the mail server since it last worked, and other failures in a row,
        # such as those of the database.
        self._failures = 0
        self._errors = 0
        self._next_work = 0.0

    def stop(self) -> None:
        """Stop sending; an e-mail that takes too long may be sent again later."""
        self._stopping.set()
        self.join(_STOP_SECONDS)

    def run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = self._work()
        connections.close_all()

    def _work(self) -> float:
        """Send an e-mail if one is due; return how long to pause afterwards."""
        try:
            close_old_connections()
            self._work_periodically()
            mail = claim()
            if mail is not None:
                self._send(mail)
        except OSError as error:  # includes the exceptions of smtplib
            if not self._failures:
                # The exception's message may contain an address.
                reason = f"The mail server failed: {type(error).__name__}."
                _log.error("Mails wait in the outbox. %s", reason)
            self._failures += 1
        except Exception as error:
            if not self._errors:
                _log.error("The mail sender failed: %s", logs.describe_error(error))
            self._errors += 1
        else:
            self._errors = 0
            return POLL_SECONDS if mail is None else 0.0
        return _delay(self._failures + self._errors, _LONGEST_PAUSE_SECONDS)

    def _work_periodically(self) -> None:
        now = time.monotonic()
        if now >= self._next_work:
            # Set before the work, so that work that fails does not stop e-mails.
            self._next_work = now + _PERIOD_SECONDS
            for work in self._periodic:
                work()

    def _send(self, mail: OutgoingMail) -> None:
        if mail.expires_at <= timezone.now():
            _drop(mail, MailOutcome.EXPIRED, "it waited too long")
            return
        try:
            subject, text, html = json.loads(unseal(mail.sealed))
        except InvalidToken:
            reason = "it was sealed with another READBACK_SECRET_KEY"
            _drop(mail, MailOutcome.EXPIRED, reason)
            return
        # Prevents out-of-office replies (RFC 3834).
        headers = {"Auto-Submitted": "auto-generated"}
        message = EmailMultiAlternatives(
            subject, text, to=[mail.address], headers=headers
        )
        message.attach_alternative(html, "text/html")
        try:
            message.send()
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as refusal:
            code = _code(refusal)
            if code >= 500:
                _drop(mail, MailOutcome.REFUSED, f"the mail server refused it: {code}")
            else:
                postpone(mail)
        except Exception:
            postpone(mail)
            raise
        else:
            finish(mail, MailOutcome.SENT)
        if self._failures:
            _log.warning("Mail can be sent again.")
        self._failures = 0


def _code(refusal: smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError) -> int:
    """Return the SMTP status of the only recipient, or of the whole e-mail."""
    if isinstance(refusal, smtplib.SMTPDataError):
        return refusal.smtp_code
    return max(code for code, _text in refusal.recipients.values())


def _drop(mail: OutgoingMail, outcome: MailOutcome, reason: str) -> None:
    finish(mail, outcome)
    account = mail.account_id or "none"
    _log.error("Dropped mail %s of account %s: %s.", mail, account, reason)


def _delay(failures: int, longest: float) -> float:
    """Return 1, 2, 4, … seconds, up to `longest`, randomly shortened by up to half."""
    # Without the limit of 20, the power would overflow in a long outage. The random
    # part keeps senders that failed together from retrying together.
    return min(2.0 ** min(failures - 1, 20), longest) * random.uniform(0.5, 1)
