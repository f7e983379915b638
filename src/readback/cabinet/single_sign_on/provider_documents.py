"""What an OpenID Connect provider publishes: its configuration and its public keys.

Every request to a provider goes through `BoundedSession`, which limits its time, its
size and how many there are. Nothing here depends on Django: `readback doctor` uses it.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import requests

from readback.http_client import NoFreeSlot, Slots
from readback.setting_values import is_loopback

# For a whole request, from the look-up of the name to the last byte.
DEADLINE_SECONDS = 5.0
_SILENCE_SECONDS = 4.0
_MAX_BYTES = 1 << 20
_PART_BYTES = 1 << 14
# The cabinet has eight threads per process. A provider that hangs may hold these.
_MAX_REQUESTS = 3
_KEEP_SECONDS = 600.0
# Anybody can send a token that names an unknown key, and cause a refresh.
_REFRESH_SECONDS = 10.0

_slots = Slots(_MAX_REQUESTS)


class ProviderError(Exception):
    """The provider cannot be used; the text says why, without anything it sent."""


class BoundedSession(requests.Session):
    """A session whose requests end in time, and which follows no redirect.

    Not `http_client.get`: allauth needs a session of requests for the token, and one
    that is used for everything finds the same proxies and trusts the same certificates.
    It has no deadline, so a thread makes the request, and its caller waits until then.
    """

    def __init__(self) -> None:
        super().__init__()
        # A redirect could carry the client secret to another host.
        self.max_redirects = 0

    def request(self, *args: Any, **options: Any) -> requests.Response:
        options |= {"timeout": _SILENCE_SECONDS, "stream": True}
        try:
            return _slots.run(partial(self._fetch, args, options), DEADLINE_SECONDS)
        except NoFreeSlot:
            reason = "too many requests are already waiting for it"
            raise ProviderError(reason) from None
        except TimeoutError:
            raise requests.Timeout("no complete answer in time") from None

    def _fetch(
        self, args: tuple[Any, ...], options: dict[str, Any]
    ) -> requests.Response:
        content = bytearray()
        with super().request(*args, **options) as response:
            for part in response.iter_content(_PART_BYTES):
                content += part
                if len(content) > _MAX_BYTES:
                    reason = "the answer is too large"
                    raise requests.exceptions.ContentDecodingError(reason)
        response._content = bytes(content)
        return response


# One configuration and one set of keys, since there is one provider; each with the time
# until which it is kept in this process.
_kept: dict[str, tuple[dict[str, Any], float]] = {}


def configuration(issuer: str) -> dict[str, Any]:
    """Return the provider's configuration; raise `ProviderError` if it is unusable."""
    url = f"{issuer}/.well-known/openid-configuration"
    return _document(url, lambda document: _check(document, issuer))


def keys(issuer: str, *, refresh: bool = False) -> list[Any]:
    url = configuration(issuer)["jwks_uri"]
    found = _document(url, refresh=refresh).get("keys")
    if not isinstance(found, list):
        raise ProviderError("its list of keys is not valid")
    return found


def _document(
    url: str,
    check: Callable[[dict[str, Any]], None] = lambda document: None,
    *,
    refresh: bool = False,
) -> dict[str, Any]:
    document, until = _kept.get(url, ({}, 0.0))
    left = until - time.monotonic()
    if left <= 0 or (refresh and left < _KEEP_SECONDS - _REFRESH_SECONDS):
        document = _fetch_json(url)
        check(document)
        _kept[url] = (document, time.monotonic() + _KEEP_SECONDS)
    return document


def _fetch_json(url: str) -> dict[str, Any]:
    try:
        with BoundedSession() as session:
            response = session.get(url)
    except requests.RequestException as error:
        raise ProviderError(f"{url} cannot be read: {reason(error)}") from None
    if response.status_code != requests.codes.ok:
        raise ProviderError(f"{url} answers {response.status_code}")
    try:
        document = response.json()
    except (ValueError, RecursionError):  # a number or a nesting may be too large
        raise ProviderError(f"{url} is not JSON") from None
    if not isinstance(document, dict):
        raise ProviderError(f"{url} is not a JSON object")
    return document


def reason(error: requests.RequestException) -> str:
    """Return why a request failed; the message of the exception may quote answers."""
    match error:
        case requests.TooManyRedirects():
            return "it redirects to another address"
        case requests.exceptions.SSLError():
            return "its certificate is not trusted"
        case requests.Timeout():
            return f"no answer within {DEADLINE_SECONDS:.3g} seconds"
        case requests.ConnectionError():
            return "no connection"
        case _:
            return "the answer is not valid"


def _check(document: dict[str, Any], issuer: str) -> None:
    """Raise an error unless it is this issuer's, and its endpoints are safe."""
    told = document.get("issuer")
    # The setting has no slash at the end; an issuer may.
    if not isinstance(told, str) or told.rstrip("/") != issuer:
        raise ProviderError("its configuration names another issuer")
    optional = {"userinfo_endpoint"} & document.keys()
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", *optional):
        if not _is_safe(document.get(name)):
            raise ProviderError(f"its {name} is not a URL with https://")


def _is_safe(url: object) -> bool:
    """Return whether nobody on the way can read what is sent to the URL."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = parts.hostname or ""
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )
