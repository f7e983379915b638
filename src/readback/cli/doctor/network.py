"""Checks of `readback doctor`: addresses, listeners, certificate, mail, provider."""

from datetime import UTC, datetime
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL
from urllib.parse import urlsplit

from readback.api.certificate import SOON
from readback.cli import certificates, console, listeners
from readback.cli.database import set_up_django
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.probe.connection.certificates import Certificate, is_out_of_order
from readback.setting_values import Bind

# A mail is sent within about a second, or tried again within minutes.
_LONG_WAIT_SECONDS = 60
_RENEW = "Renew the certificate, then restart the API."


def addresses(config: Config) -> CheckResults:
    """Warn if people on other machines would be shown an address of this machine."""
    rows: tuple[tuple[str, str, tuple[Bind, ...]], ...] = (
        ("READBACK_PUBLIC_BASE_URL", config.public_base_url, config.api_bind),
        ("READBACK_CABINET_URL", config.cabinet_url, (config.cabinet_bind,)),
    )
    for setting, url, used in rows:
        if not url and not all(bind.is_loopback for bind in used):
            yield warn(
                "addresses",
                f"{setting} is empty, so users see an address of this machine",
                f"Set {setting} to the address that clients use.",
            )
    yield ok("address of the API", config.base_url)
    yield ok("address of the cabinet", config.effective_cabinet_url)


def provider(config: Config) -> CheckResults:
    if not config.oidc_issuer:
        return
    from readback.cabinet.account_rules import CALLBACK_PATH
    from readback.cabinet.single_sign_on import provider_documents

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
    of_api = listeners.binds_of_api(config)
    try:
        listeners.check_distinct(of_api)
        listeners.check_distinct(
            [*of_api, ("READBACK_CABINET_BIND", config.cabinet_bind)]
        )
    except CannotStart as error:
        found = error.message
        if "READBACK_CABINET_BIND" in found:
            action = "Change one of them. Ignore this if only one plane runs here."
            yield warn("addresses to listen on", found, action)
        else:
            yield fail("addresses to listen on", found, "Change one of them.")
    for bind in config.api_bind:
        yield _bind("READBACK_API_BIND", bind)
    yield _bind("READBACK_CABINET_BIND", config.cabinet_bind)
    yield _bind("READBACK_OPS_BIND", config.ops_bind)


def _bind(setting: str, bind: Bind) -> CheckResult:
    try:
        listeners.check_can_listen(bind)
    except OSError as error:
        found = f"{bind}: {listeners.reason(error)}"
        if error.errno == EADDRINUSE:
            action = f"Ignore this if Readback is running; otherwise change {setting}."
            return warn(setting, found, action)
        if error.errno == EACCES and bind.port:
            action = f"Ignore this if systemd opens it; otherwise change {setting}."
            return warn(setting, found, action)
        if error.errno == EADDRNOTAVAIL and setting == "READBACK_OPS_BIND":
            # A cabinet asks there for the overview, and does not listen.
            action = "Ignore this if only the cabinet runs here, and the API there."
            return warn(setting, found, action)
        return fail(setting, found, f"Set {setting} to another address.")
    return ok(setting, f"{bind} is free")


def mail_server(config: Config) -> CheckResults:
    from readback.cabinet.mail import backends

    if not config.smtp_url:
        line = warn if backends.server_is_missing(config) else ok
        found = "no mail server set; e-mails are printed to the terminal"
        yield line("mail", found, "Set READBACK_SMTP_URL to send e-mails.")
        return
    try:
        set_up_django(needs_secret_key=False)
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
        problem = warn(
            "certificate",
            f"it is for {subject}, and not for {host}, the host that clients use",
            "Get a certificate for this host, or correct READBACK_PUBLIC_BASE_URL. "
            "Ignore this if a proxy has another certificate.",
        )
        problems.append(problem)
    if is_out_of_order(chain):
        problem = warn(
            "certificate",
            "the certificates of the chain are in the wrong order, so some clients "
            "refuse it",
            "Sort the file: the server's own certificate, then the one that issued it, "
            "and so on.",
        )
        problems.append(problem)
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
