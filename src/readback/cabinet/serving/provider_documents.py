"""What an OpenID Connect provider publishes: its configuration.

Nothing here depends on Django: `readback doctor` uses it, too.
"""

import json
from typing import Any
from urllib.parse import urlsplit

import requests

from readback.setting_values import is_loopback

# For connecting, and for each part of an answer. The provider is the operator's own.
TIMEOUT_SECONDS = 5.0
# A configuration and a list of keys have some thousand.
MAX_DOCUMENT_BYTES = 1 << 20
_PART_BYTES = 1 << 16


class ProviderError(Exception):
    """The provider cannot be used; the text says why, without anything it sent."""


class ProviderSession(requests.Session):
    """A session with a timeout, which follows no redirect.

    A redirect could carry the client secret to another host.
    """

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = 0

    def request(self, *args: Any, **options: Any) -> requests.Response:
        return super().request(*args, **options | {"timeout": TIMEOUT_SECONDS})


def configuration(issuer: str) -> dict[str, Any]:
    """Return the provider's configuration; raise `ProviderError` if it is unusable."""
    document = _fetch_json(f"{issuer}/.well-known/openid-configuration")
    told = document.get("issuer")
    # The setting has no slash at the end; an issuer may.
    if not isinstance(told, str) or told.rstrip("/") != issuer:
        raise ProviderError("its configuration names another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not _is_safe(document.get(name)):
            raise ProviderError(f"its {name} is not a URL with https://")
    return document


def _fetch_json(url: str) -> dict[str, Any]:
    try:
        with ProviderSession() as session, session.get(url, stream=True) as response:
            if response.status_code != requests.codes.ok:
                raise ProviderError(f"{url} answers {response.status_code}")
            document = json.loads(_content(url, response))
    except (ValueError, RecursionError):  # too long a number, or too deep a nesting
        raise ProviderError(f"{url} is not JSON") from None
    except requests.RequestException as error:
        raise ProviderError(f"{url} cannot be read: {reason(error)}") from None
    if not isinstance(document, dict):
        raise ProviderError(f"{url} is not a JSON object")
    return document


def _content(url: str, response: requests.Response) -> bytes:
    content = bytearray()
    for part in response.iter_content(_PART_BYTES):
        content += part
        if len(content) > MAX_DOCUMENT_BYTES:
            raise ProviderError(f"{url} has more than {MAX_DOCUMENT_BYTES} bytes")
    return bytes(content)


def reason(error: requests.RequestException) -> str:
    """Return why a request failed; the message of the exception may quote answers."""
    match error:
        case requests.TooManyRedirects():
            return "it redirects to another address"
        case requests.exceptions.SSLError():
            return "its certificate is not trusted"
        case requests.Timeout():
            return f"no answer within {TIMEOUT_SECONDS:.3g} seconds"
        case requests.ConnectionError():
            return "no connection"
        case _:
            return "the answer is not valid"


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
