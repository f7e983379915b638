"""The settings as a command meets them: wrong ones end it with one sentence."""

from importlib.util import find_spec

from readback.cli.exits import CannotStart
from readback.config import Config, ConfigError, read

_SERVER_PARTS = ("allauth", "django", "gunicorn", "httptools", "msgspec", "uvloop")


def load() -> Config:
    try:
        return read()
    except ConfigError as error:
        raise CannotStart(str(error)) from None


def require_server_parts() -> None:
    missing = [name for name in _SERVER_PARTS if find_spec(name) is None]
    if missing:
        raise CannotStart(
            "This command needs the server parts, which are not installed "
            f"({', '.join(missing)}): run pip install '.[server]' in a checkout of "
            "Readback"
        )


def check_certificate(config: Config) -> None:
    """Try the certificate here, where a fault still has the setting's name."""
    if config.tls_certificate is None:
        return
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(config.tls_certificate, config.tls_key)
    except OSError as error:  # ssl.SSLError is one, too
        reason = error.strerror or "it is not a PEM certificate with its key"
        raise CannotStart(
            f"READBACK_TLS_CERTIFICATE and READBACK_TLS_KEY cannot be used: {reason}"
        ) from None
