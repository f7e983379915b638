"""Checks of `readback doctor`: whether clients can trust the certificate of the API."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from readback.api.certificate import SOON
from readback.cli import certificates, tables
from readback.cli.doctor.report import CheckResult, CheckResults, fail, ok, warn
from readback.config import Config
from readback.probe.connection.certificates import Certificate, is_out_of_order

_RENEW = "Renew the certificate, then restart the API."


def certificate(config: Config) -> CheckResults:
    if config.tls_certificate is None:
        return
    try:
        chain = certificates.check(config)
    except certificates.UnusableCertificate as error:
        yield fail("certificate", error.found, error.action)
        return
    problems = [
        *_dates(chain, datetime.now(UTC)),
        *_names(chain[0], config),
        *_order(chain),
    ]
    if problems:
        yield from problems
        return
    until = tables.format_time(chain[0].until)
    yield ok(
        "certificate", f"{chain[0].subject}, valid until {until}, with its private key"
    )


def _dates(chain: list[Certificate], now: datetime) -> CheckResults:
    for one in chain:
        if one.since is None or one.until is None:
            continue
        if result := _date(one.subject, one.since, one.until, now):
            yield result


def _date(
    subject: str, since: datetime, until: datetime, now: datetime
) -> CheckResult | None:
    if until < now:
        found = f"{subject} expired on {tables.format_time(until)}"
        return fail("certificate", found, _RENEW)
    if since > now:
        found = f"{subject} is not valid before {tables.format_time(since)}"
        return fail("certificate", found, "Check the clock of this machine.")
    if until < now + SOON:
        days = (until - now).days
        found = f"{subject} expires in {days} days, on {tables.format_time(until)}"
        return warn("certificate", found, _RENEW)
    return None


def _names(own: Certificate, config: Config) -> CheckResults:
    host = (urlsplit(config.public_base_url).hostname or "").lower()
    if host and not certificates.is_for(host, own):
        yield warn(
            "certificate",
            f"it is for {own.subject}, and not for {host}, the host that clients use",
            "Get a certificate for this host, or correct READBACK_PUBLIC_BASE_URL. "
            "Ignore this if a proxy has another certificate.",
        )


def _order(chain: list[Certificate]) -> CheckResults:
    if is_out_of_order(chain):
        yield warn(
            "certificate",
            "the certificates of the chain are in the wrong order, so some clients "
            "refuse it",
            "Sort the file: the server's own certificate, then the one that issued it, "
            "and so on.",
        )
