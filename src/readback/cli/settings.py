"""Reads and checks the settings; an error ends the command with one sentence."""

from readback.cli.exit_codes import CannotStart
from readback.config import Config, read
from readback.setting_values import ConfigError


def load() -> Config:
    try:
        return read()
    except ConfigError as error:
        raise CannotStart(str(error)) from None


def load_for_server() -> Config:
    """Return the settings of a server that is not temporary."""
    config = load()
    # A key from a CI configuration must not get into a permanent database.
    if config.ephemeral_key:
        raise CannotStart(
            "READBACK_EPHEMERAL_KEY is set, but this server is not ephemeral: remove "
            "it, or use readback serve --ephemeral."
        )
    return config


def check_certificate(config: Config) -> None:
    """Load the certificate once, so that an error is reported in one sentence."""
    if config.tls_certificate is None or config.tls_key is None:
        return
    import ssl

    try:
        # Without a password argument, OpenSSL would ask for one on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            config.tls_certificate, config.tls_key, password=""
        )
    except OSError as error:  # includes SSLError
        reason = getattr(error, "reason", None) or error.strerror or "unknown reason"
        raise CannotStart(
            f"READBACK_TLS_CERTIFICATE: {config.tls_certificate} cannot be used with "
            f"the key {config.tls_key}: {reason.replace('_', ' ').lower()}. Both must "
            "be PEM files that the user of the service may read. The server's own "
            "certificate comes first, and its key has no password."
        ) from None
