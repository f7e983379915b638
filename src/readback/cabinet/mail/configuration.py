"""Django's mail settings, parsed from READBACK_SMTP_URL. Nothing here sends mail."""

from typing import Any
from urllib.parse import unquote, urlsplit

from readback.config import Config

_PORTS = {"smtp": 25, "smtps": 465}
# For connecting to one address of the server, and for each of its answers.
_TIMEOUT_SECONDS = 10


def settings(smtp_url: str) -> dict[str, Any]:
    """Return Django's EMAIL_… settings; without a server, e-mails are printed."""
    if not smtp_url:
        return {"EMAIL_BACKEND": "readback.cabinet.mail.terminal.TerminalBackend"}
    url = urlsplit(smtp_url)
    return {
        "EMAIL_BACKEND": "readback.cabinet.mail.backends.DeadlineBackend",
        "EMAIL_HOST": url.hostname,
        "EMAIL_PORT": url.port or _PORTS[url.scheme],
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
        "EMAIL_USE_SSL": url.scheme == "smtps",
        # Never send a password over an unencrypted connection.
        "EMAIL_USE_TLS": url.scheme == "smtp" and bool(url.username),
        "EMAIL_TIMEOUT": _TIMEOUT_SECONDS,
    }


def is_missing(config: Config) -> bool:
    """Return whether people on other machines cannot receive their e-mails."""
    host = urlsplit(config.effective_cabinet_url).hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    return not config.smtp_url and not (is_local and config.cabinet_bind.is_loopback)
