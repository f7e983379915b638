"""`readback wait`: wait until a server is ready, without a key."""

import threading
from datetime import timedelta
from urllib.parse import urlsplit

import click

from readback.cli.console import duration
from readback.cli.exit_codes import Failure
from readback.contract import VERSION_PREFIX


def url(value: str) -> str:
    """Check an address; click shows this function's name in the help."""
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_valid = False
    is_plain = value.isprintable() and " " not in value
    if not (is_valid and is_plain) or parts.username is not None:
        raise click.BadParameter("must begin with http:// or https:// and a host.")
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or (path and not path.endswith(VERSION_PREFIX)):
        raise click.BadParameter(f"must end with the host or with {VERSION_PREFIX}.")
    return value.rstrip("/")


@click.command()
@click.argument("url", type=url)
@click.option(
    "--timeout",
    type=duration,
    default="30s",
    show_default=True,
    help="How long to wait, such as 500ms, 30s or 2m.",
)
def wait(url: str, timeout: timedelta) -> None:
    """Wait until a server is ready: its API, cabinet or ops listener.

    URL is the base URL of the API, or the address of any of the three without a path.
    """
    # Here, because no other command needs an HTTP client.
    from readback.cli.readiness import Attempts

    attempts = Attempts(url)
    # In a thread, because looking up a name cannot be interrupted.
    threading.Thread(target=attempts.run, daemon=True).start()
    seconds = min(timeout.total_seconds(), threading.TIMEOUT_MAX)
    if not attempts.succeeded.wait(seconds):
        raise Failure(f"{url} is not ready: {attempts.last_seen}.")
