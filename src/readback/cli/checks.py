"""What `readback doctor` checks: the settings in use, and the services they name.

A check returns what it found, or an empty string if it does not apply. It raises
`CannotStart` for an error and `Doubt` for a warning. No check changes anything.
"""

import os
import shlex
from datetime import UTC, datetime

from readback.api.certificate import SOON, expiry
from readback.cabinet.account_rules import CALLBACK_PATH
from readback.cabinet.accounts import provider_documents
from readback.cabinet.mail import backends
from readback.cabinet.storage import private_files
from readback.cli import console, settings
from readback.cli.database import set_up_django
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.setting_values import ConfigError


class Doubt(Exception):
    """A warning: something that may be a problem, but does not prevent startup."""


def secret_key(config: Config) -> str:
    if config.secret_key:
        return "set in READBACK_SECRET_KEY"
    path = config.data_dir.absolute() / private_files.SECRET_KEY_NAME
    try:
        if os.path.lexists(path):
            private_files.load_secret_key(config)
    except ConfigError as error:
        raise CannotStart(str(error)) from None
    if not config.sqlite_path:
        raise Doubt(
            "READBACK_SECRET_KEY is not set, so each machine generates its own: set it "
            "to the same value on every replica of the cabinet."
        )
    if not path.exists():
        return f"{path} will be created by the first start"
    return f"in {path}"


def permissions(config: Config) -> str:
    exposed = [str(path) for path in private_files.exposed(config)]
    if exposed:
        raise CannotStart(
            f"Other users can access {', '.join(exposed)}: run `chmod go= "
            f"{shlex.join(exposed)}`."
        )
    return "no other user can access the data directory or the database"


def certificate(config: Config) -> str:
    if config.tls_certificate is None:
        return ""
    settings.check_certificate(config)
    if not (expires := expiry(config.tls_certificate)):
        return f"{config.tls_certificate} can be served"
    end = datetime.fromtimestamp(expires, UTC)
    at = console.format_time(end)
    if end < datetime.now(UTC):
        raise CannotStart(f"{config.tls_certificate} expired on {at}: renew it.")
    found = f"{config.tls_certificate} is valid until {at}"
    if end < datetime.now(UTC) + SOON:
        raise Doubt(f"{found}: renew it.")
    return found


def api_address(config: Config) -> str:
    is_local = all(bind.is_loopback for bind in config.api_bind)
    if is_local or config.public_base_url:
        return config.base_url
    raise Doubt(f"users see {config.base_url}: set READBACK_PUBLIC_BASE_URL.")


def cabinet_address(config: Config) -> str:
    url = config.effective_cabinet_url
    if config.cabinet_bind.is_loopback or config.cabinet_url:
        return url
    raise Doubt(f"users see {url}: set READBACK_CABINET_URL.")


def database(config: Config) -> str:
    name = str(config.sqlite_path or "PostgreSQL")
    if config.sqlite_path and not config.sqlite_path.exists():
        return f"{name} will be created by the first start"
    set_up_django(needs_secret_key=False)
    from readback.cabinet.storage import schema
    from readback.cli.startup import check_api_role

    if pending := schema.pending():
        raise Doubt(
            f"{name}: pending migrations: {len(pending)}. Run `readback migrate`, or "
            "start `readback serve`, which migrates first."
        )
    check_api_role(config)
    if newer := schema.unknown():
        raise Doubt(f"{name}: a newer version has applied {', '.join(newer)}.")
    return f"{name} is reachable and up to date"


def mail(config: Config) -> str:
    if not config.smtp_url:
        found = "no mail server is set; e-mails are printed to standard error"
        if backends.server_is_missing(config):
            raise Doubt(f"{found}: set READBACK_SMTP_URL to send them.")
        return found
    set_up_django(needs_secret_key=False)
    from django.core.mail import get_connection

    try:
        with get_connection():
            return "connected to the mail server"
    except OSError as error:  # includes smtplib's exceptions
        raise CannotStart(
            "READBACK_SMTP_URL: the mail server cannot be used: "
            f"{error.strerror or type(error).__name__}."
        ) from None


def provider(config: Config) -> str:
    if not config.oidc_issuer:
        return ""
    try:
        provider_documents.configuration(config.oidc_issuer)
    except provider_documents.ProviderError as error:
        raise CannotStart(
            f"READBACK_OIDC_ISSUER: the provider cannot be used: {error}."
        ) from None
    callback = f"{config.effective_cabinet_url}/{CALLBACK_PATH}"
    return f"the provider answers; register {callback} there"
