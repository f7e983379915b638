"""Checks of `readback doctor`: the mail server, and the e-mails that wait for it."""

from datetime import UTC, datetime

from readback.cli import django_setup
from readback.cli.doctor.report import (
    CheckResult,
    CheckResults,
    CheckStatus,
    fail,
    ok,
    warn,
)
from readback.cli.exit_codes import CannotStart
from readback.config import Config

# A mail is sent within about a second, or tried again within minutes.
_LONG_WAIT_SECONDS = 60


def mail_server(config: Config) -> CheckResults:
    from readback.cabinet.mail import backends

    if not config.smtp_url:
        status = (
            CheckStatus.WARN if backends.server_is_missing(config) else CheckStatus.OK
        )
        found = "no mail server set; e-mails are printed to the terminal"
        action = "Set READBACK_SMTP_URL to send e-mails."
        yield CheckResult(status, "mail", found, action)
        return
    try:
        django_setup.set_up_django(needs_secret_key=False)
    except CannotStart:  # the check of the database says why
        return
    from django.core.mail import get_connection

    try:
        with get_connection():
            yield ok("mail", "connected to the mail server")
    except OSError as error:  # includes the exceptions of smtplib
        yield fail(
            "mail",
            f"the mail server cannot be used: {error.strerror or type(error).__name__}",
            "Check the host, port, user and password in READBACK_SMTP_URL.",
        )


def outbox() -> CheckResult:
    """Report what waits in the migrated database, and what will never arrive."""
    from django.db import ProgrammingError

    from readback.cabinet.mail import outbox
    from readback.cabinet.serving import outages

    try:
        waiting, dropped = outbox.waiting(), _dropped(outbox.totals())
    except ProgrammingError as error:
        return ok("outbox", f"not read, because of {outages.reason(error)}")
    if waiting.since is None:
        return ok("outbox", f"no e-mail is waiting{dropped}")
    seconds = (datetime.now(UTC) - waiting.since).total_seconds()
    found = f"e-mails waiting: {waiting.mails}; the oldest for {seconds:.0f} s{dropped}"
    if seconds < _LONG_WAIT_SECONDS:
        return ok("outbox", found)
    action = "Check the mail server, and that a cabinet is running: it sends them."
    return warn("outbox", found, action)


def _dropped(totals: dict[str, int]) -> str:
    """Return how many mails were lost since the beginning; the log has the reasons."""
    counts = ", ".join(
        f"{outcome}: {totals[outcome]}"
        for outcome in ("refused", "expired")
        if totals[outcome]
    )
    return f"; never sent, see the log of the cabinet: {counts}" if counts else ""
