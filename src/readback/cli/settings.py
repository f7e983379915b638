"""What a command checks before it starts; each check ends it with one sentence."""

from importlib.util import find_spec

from readback.cli.exit_codes import CannotStart
from readback.config import Config, ConfigError, read

_SERVER_PACKAGES = ("allauth", "django", "gunicorn", "httptools", "msgspec", "uvloop")


def load() -> Config:
    try:
        return read()
    except ConfigError as error:
        raise CannotStart(str(error)) from None


def require_server_packages() -> None:
    missing = [name for name in _SERVER_PACKAGES if find_spec(name) is None]
    if missing:
        raise CannotStart(
            f"This command needs packages that are not installed ({', '.join(missing)})"
            ": run pip install '.[server]' in a checkout of Readback."
        )


def refuse_ephemeral_key(config: Config) -> None:
    """Keep a key that is written in a file of a CI out of a lasting database."""
    if config.ephemeral_key:
        raise CannotStart(
            "READBACK_EPHEMERAL_KEY is set, but this server is not ephemeral: remove "
            "it, or use readback serve --ephemeral."
        )


def check_certificate(config: Config) -> None:
    """Load the certificate once, so that an error names the settings."""
    if config.tls_certificate is None:
        return
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(config.tls_certificate, config.tls_key)
    except OSError as error:  # includes ssl.SSLError
        reason = error.strerror or "not a PEM certificate with its private key"
        raise CannotStart(
            f"READBACK_TLS_CERTIFICATE and READBACK_TLS_KEY cannot be used: {reason}."
        ) from None
