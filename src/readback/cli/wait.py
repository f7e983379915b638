"""`readback wait`: wait until a server is ready, without a key.

The API is ready if it refuses a request without a key, because it has no health check
at its own address. The ops listener and the cabinet answer their health checks.
"""

import time
from datetime import timedelta
from urllib.parse import urlsplit

import click

from readback.cli.console import duration
from readback.cli.exit_codes import Failure
from readback.contract import (
    HEALTH_PATH,
    MODELS_PATH,
    READINESS_PATH,
    REFUSALS,
    VERSION_PREFIX,
)

_POLL_SECONDS = 0.2
# The limit for one answer, so that a lost request does not use up all the time.
_ANSWER_SECONDS = 5
_NO_KEY = REFUSALS["invalid_key"].status
# The paths to request, each with the status that a ready server returns.
_READY = {MODELS_PATH: _NO_KEY, READINESS_PATH: 200, HEALTH_PATH: 200}
# The statuses of a server that does not have the path. The cabinet returns 400 for any
# host name but its own, except for health checks.
_ELSEWHERE = (400, 404)


def url(value: str) -> str:
    """Check an address; click shows this function's name in the help."""
    parts = urlsplit(value)
    _ = parts.port  # click reports ValueError as a usage error
    is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
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

    URL is the API's base URL, or the address of any of the three without a path.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    while seen := _problem(url, deadline):
        if time.monotonic() + _POLL_SECONDS > deadline:
            raise Failure(f"{url} is not ready: {seen}.")
        time.sleep(_POLL_SECONDS)


def _problem(url: str, deadline: float) -> str:
    """Return why the server is not ready, or an empty string if it is."""
    from readback.http_client import ERRORS, send

    paths = _READY
    if url.endswith(VERSION_PREFIX):
        paths = {MODELS_PATH.removeprefix(VERSION_PREFIX): _NO_KEY}
    seen = ""
    for path, ready in paths.items():  # until the server has one of the paths
        seconds = max(0.1, min(_ANSWER_SECONDS, deadline - time.monotonic()))
        try:
            status = send("GET", url + path, seconds).status
        except ERRORS as error:
            reason = getattr(error, "strerror", None) or str(error)
            return reason.lower() or type(error).__name__
        if status == ready:
            return ""
        seen = f"it answered {path} with status {status}"
        if status not in _ELSEWHERE:
            break
    return seen
