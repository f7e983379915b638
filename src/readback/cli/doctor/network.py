"""Checks of `readback doctor`: addresses, listeners, certificate, mail, provider."""

from datetime import UTC, datetime
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL
from urllib.parse import urlsplit

from django.core.mail import get_connection
from django.db import ProgrammingError

from readback.api.certificate import SOON
from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.mail import backends
from readback.cabinet.serving import provider_documents
from readback.cli import certificates, console, listeners
from readback.cli.database import set_up_django
from readback.cli.doctor import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.probe.connection.certificates import Certificate, is_out_of_order
from readback.setting_values import Bind

# A mail is sent within about a second, or tried again within minutes.
_LONG_WAIT_SECONDS = 60
_RENEW = "Renew the certificate, then restart the API."


def addresses(config: Config) -> CheckResults:
    """Warn if people on other machines would be shown an address of this machine."""
    for setting, url, used in (
        ("READBACK_PUBLIC_BASE_URL", config.public_base_url, config.api_bind),
        ("READBACK_CABINET_URL", config.cabinet_url, (config.cabinet_bind,)),
    ):
        if not url and not all(bind.is_loopback for bind in used):
            found = f"{setting} is empty, so users see an address of this machine"
            action = f"Set {setting} to the address that clients use."
            yield warn("addresses", found, action)
    yield ok("address of the API", config.base_url)
    yield ok("address of the cabinet", config.effective_cabinet_url)


def provider(config: Config) -> CheckResults:
    if not config.oidc_issuer:
        return
    try:
        provider_documents.keys(config.oidc_issuer)
    except provider_documents.ProviderError as error:
        yield fail(
            "single sign-on",
            f"the provider cannot be used: {error}",
            "Check READBACK_OIDC_ISSUER, and that this machine reaches the provider.",
        )
        return
    callback = f"{config.effective_cabinet_url}/{CALLBACK_PATH}"
    yield ok("single sign-on", f"the provider answers; register {callback} there")


def binds(config: Config) -> CheckResults:
    *of_api, of_ops = listeners.binds_of_api(config)
    of_cabinet = ("READBACK_CABINET_BIND", config.cabinet_bind)
    try:
        listeners.check_distinct([*of_api, of_ops])
        listeners.check_distinct([*of_api, of_ops, of_cabinet])
    except CannotStart as error:
        found, action, line = error.message, "Change one of them.", fail
        if "READBACK_CABINET_BIND" in found:
            action += " Ignore this if only one plane runs here."
            line = warn
        yield line("addresses to listen on", found, action)
    for setting, bind in (*of_api, of_cabinet, of_ops):
        try:
            listeners.check_can_listen(bind)
        except OSError as error:
            found = f"{bind}: {listeners.reason(error)}"
            if ignore := _harmless(error, setting, bind):
                yield warn(setting, found, ignore)
            else:
                yield fail(setting, found, f"Set {setting} to another address.")
        else:
            yield ok(setting, f"{bind} is free")


def _harmless(error: OSError, setting: str, bind: Bind) -> str:
    """Return when an address that cannot be listened on is no problem, if ever."""
    if error.errno == EADDRINUSE:
        return f"Ignore this if Readback is running; otherwise change {setting}."
    if error.errno == EACCES and bind.port:
        return f"Ignore this if systemd opens it; otherwise change {setting}."
    if error.errno == EADDRNOTAVAIL and setting == "READBACK_OPS_BIND":
        # A cabinet asks there for the overview, and does not listen.
        return "Ignore this if only the cabinet runs here, and the API there."
    return ""


def mail_server(config: Config) -> CheckResults:
    if not config.smtp_url:
        line = warn if backends.server_is_missing(config) else ok
        found = "no mail server set; e-mails are printed to the terminal"
        yield line("mail", found, "Set READBACK_SMTP_URL to send e-mails.")
        return
    try:
        set_up_django(needs_secret_key=False)
    except CannotStart:  # the check of the database says why
        return
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
    from readback.cabinet.mail import outbox
    from readback.cabinet.serving import errors

    try:
        waiting, totals = outbox.waiting(), outbox.totals()
    except ProgrammingError as error:
        return ok("outbox", f"not read, because of {errors.reason(error)}")
    # Since the beginning; the log has the reasons.
    lost = [
        f"{name}: {totals[name]}" for name in ("refused", "expired") if totals[name]
    ]
    never_sent = f"; never sent, see the log of the cabinet: {', '.join(lost)}"
    dropped = never_sent if lost else ""
    if waiting.since is None:
        return ok("outbox", f"no e-mail is waiting{dropped}")
    seconds = (datetime.now(UTC) - waiting.since).total_seconds()
    found = f"e-mails waiting: {waiting.mails}; the oldest for {seconds:.0f} s{dropped}"
    if seconds < _LONG_WAIT_SECONDS:
        return ok("outbox", found)
    action = "Check the mail server, and that a cabinet is running: it sends them."
    return warn("outbox", found, action)


def certificate(config: Config) -> CheckResults:
    if config.tls_certificate is None:
        return
    try:
        chain = certificates.check(config)
    except certificates.UnusableCertificate as error:
        yield fail("certificate", error.found, error.action)
        return
    problems = list(_dates(chain, datetime.now(UTC)))
    host = (urlsplit(config.public_base_url).hostname or "").lower()
    if host and not certificates.is_for(host, chain[0]):
        subject = chain[0].subject
        found = f"it is for {subject}, and not for {host}, the host that clients use"
        action = (
            "Get a certificate for this host, or correct READBACK_PUBLIC_BASE_URL. "
            "Ignore this if a proxy has another certificate."
        )
        problems.append(warn("certificate", found, action))
    if is_out_of_order(chain):
        found = (
            "the certificates of the chain are in the wrong order, so some clients "
            "refuse it"
        )
        action = (
            "Sort the file: the server's own certificate, then the one that issued it, "
            "and so on."
        )
        problems.append(warn("certificate", found, action))
    until = console.format_time(chain[0].until)
    found = f"{chain[0].subject}, valid until {until}, with its private key"
    yield from problems or [ok("certificate", found)]


def _dates(chain: list[Certificate], now: datetime) -> CheckResults:
    for one in chain:
        if one.since is None or one.until is None:
            continue
        until = console.format_time(one.until)
        if one.until < now:
            yield fail("certificate", f"{one.subject} expired on {until}", _RENEW)
        elif one.since > now:
            since = console.format_time(one.since)
            found = f"{one.subject} is not valid before {since}"
            yield fail("certificate", found, "Check the clock of this machine.")
        elif one.until < now + SOON:
            days = (one.until - now).days
            found = f"{one.subject} expires in {days} days, on {until}"
            yield warn("certificate", found, _RENEW)
