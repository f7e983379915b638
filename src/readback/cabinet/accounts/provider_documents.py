"""Requests to an OpenID Connect provider, and the configuration that it publishes.

A login waits for the provider in a thread that other pages need. So the duration, the
size of the answer and the number of parallel requests are limited, and the
configuration is cached.

Nothing here depends on Django: `readback doctor` uses it, too.
"""

import json
import time
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from readback import __version__, http_client
from readback.http_client import Answer, NoFreeSlot, Slots
from readback.setting_values import is_loopback

# How long a page waits for the provider, including the lookup of the host name.
TIMEOUT_SECONDS = 5.0
REMEMBERED_SECONDS = 300.0
# How many requests to the provider may run at once, so that threads remain for other
# pages. Forms use at most four of eight threads, and key tests up to two of these four.
# The form that starts a login reads only the configuration. All other requests are sent
# while the browser loads the page to which the provider redirects it.
_for_forms = Slots(1)
_for_pages = Slots(3)

# Each issuer's configuration, and when to read it again.
_remembered: dict[str, tuple[dict[str, Any], float]] = {}


class ProviderError(Exception):
    """The provider is unusable; the message says why without quoting its response."""


class ProviderBusyError(ProviderError):
    """The provider was not contacted, because too many requests are waiting for it."""


def configuration(issuer: str) -> dict[str, Any]:
    """Return the provider's configuration; raise `ProviderError` if it is unusable."""
    document, until = _remembered.get(issuer, ({}, float("-inf")))
    if time.monotonic() >= until:
        try:
            document = _read_configuration(issuer)
            _remembered[issuer] = (document, time.monotonic() + REMEMBERED_SECONDS)
        except ProviderBusyError:
            # Another login is reading it now; use the previous configuration.
            if not document:
                raise
    return document


def _read_configuration(issuer: str) -> dict[str, Any]:
    document = _read_json(f"{issuer}/.well-known/openid-configuration")
    # The setting never ends with a slash; an issuer may.
    if str(document.get("issuer")).rstrip("/") != issuer:
        raise ProviderError("its configuration names another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not _is_safe(str(document.get(name))):
            raise ProviderError(f"its {name} is not a URL with https://")
    return document


def _read_json(url: str) -> dict[str, Any]:
    answer = ask(url, "GET", url, is_form=True)
    if answer.status != HTTPStatus.OK:
        raise ProviderError(f"{url} answers {answer.status}")
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):  # a long number, or deep nesting
        raise ProviderError(f"{url} is not JSON") from None
    if not isinstance(document, dict):
        raise ProviderError(f"{url} is not a JSON object")
    return document


def ask(
    name: str, method: str, url: str, *, is_form: bool = False, **options: Any
) -> Answer:
    """Send a request; raise a `ProviderError` with this name if it fails.

    Redirects are not followed: they could carry the client secret to another host.
    """
    headers = {"Accept": "application/json", "User-Agent": f"Readback/{__version__}"}
    options["headers"] = headers | dict(options.get("headers", {}))
    send = partial(http_client.send, method, url, TIMEOUT_SECONDS, **options)
    try:
        answer = (_for_forms if is_form else _for_pages).run(send, TIMEOUT_SECONDS)
    except NoFreeSlot:
        raise ProviderBusyError("others are waiting for it") from None
    except http_client.ERRORS as error:
        # An exception's message may quote what the provider sent.
        kind = type(error).__name__
        raise ProviderError(f"{name} cannot be read: {kind}") from None
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        raise ProviderError(f"{name} redirects to another address")
    return answer


def _is_safe(url: str) -> bool:
    """Return whether the URL uses HTTPS, or leads to this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = parts.hostname or ""
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )
