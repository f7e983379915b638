"""What a head asks, as far as it tells by itself: endpoint, key, kind of body.

Worked out once for each head that comes, and kept with it. Nothing here looks at a
body, at the database or at the clock.
"""

from functools import lru_cache
from typing import NamedTuple

from readback import keys
from readback.api.data.journal import USER_AGENT_CHARACTERS
from readback.api.endpoints.near_misses import name_the_slip
from readback.api.http.head import Head
from readback.contract import CHAT_PATH, MODELS_PATH

MODELS, CHAT, OTHER = "models", "chat", "other"

_ENDPOINTS = {
    (b"GET", MODELS_PATH.encode()): MODELS,
    (b"POST", CHAT_PATH.encode()): CHAT,
}
_JSON_TYPE = b"application/json"
_NO_KEY = "Send the header Authorization: Bearer <key>, with a key from the cabinet."


class PresentedKey(NamedTuple):
    """Who a client says it is."""

    digest: bytes  # of the key
    flaw: str  # a sentence on what is wrong with the key; none if nothing is


class RequestInfo(NamedTuple):
    """A head, understood. What is wrong is a sentence; nothing wrong is none."""

    endpoint: str
    slip: str  # with path or method
    claim: PresentedKey | None  # unless the key has been cut out of the head
    media_fault: str  # with the kind of body
    user_agent: str
    request_bytes: int  # as declared
    repeatable: bool


def request_info(head: Head) -> RequestInfo:
    """Understand a head, or recall what has been understood."""
    if head.asked is None:
        endpoint = _ENDPOINTS.get((head.method, head.target), OTHER)
        slip = name_the_slip(head.method, head.target) if endpoint == OTHER else ""
        head.asked = RequestInfo(
            endpoint=endpoint,
            slip=slip,
            claim=_claim_in(head),
            media_fault=media_type_fault(head),
            user_agent=user_agent_of(head),
            request_bytes=head.content_length,
            repeatable=head.repeatable,
        )
    question: RequestInfo = head.asked
    return question


def _claim_in(head: Head) -> PresentedKey | None:
    values = head.all(b"authorization")
    if not values:
        return PresentedKey(b"", f"The Authorization header is missing. {_NO_KEY}")
    if len(values) > 1:
        return PresentedKey(
            b"", f"Authorization stands {len(values)} times; send it once."
        )
    scheme, _, key = values[0].partition(b" ")
    if scheme == b"Bearer" and not key:
        return None
    return presented_key(key.strip(b" ") if scheme.lower() == b"bearer" else b"")


@lru_cache(1024)
def presented_key(key: bytes) -> PresentedKey:
    """Look at a key by itself."""
    if not key:
        form = "Authorization is not of the form 'Bearer <key>'."
        return PresentedKey(b"", f"{form} {_NO_KEY}")
    flaw = keys.flaw(key)
    if flaw:
        return PresentedKey(b"", f"This is not a whole key: {flaw}.")
    return PresentedKey(keys.digest(key), "")


def media_type_fault(head: Head) -> str:
    """Say why the body is not plain application/json; nothing if it is."""
    if head.first(b"content-encoding") is not None:
        return "The body has a Content-Encoding; send it as it is, without one."
    types = head.all(b"content-type")
    if not types:
        return "Content-Type is missing; add the header Content-Type: application/json."
    if len(types) > 1:
        return f"Content-Type stands {len(types)} times; send it once."
    kind = types[0].split(b";", 1)[0].strip(b" \t").lower()
    if kind == _JSON_TYPE:
        return ""
    if kind in (b"application/x-www-form-urlencoded", b"multipart/form-data"):
        return (
            "Content-Type is that of a form; with curl, add "
            "-H 'Content-Type: application/json'."
        )
    return "Content-Type is not application/json; set it to exactly that."


def user_agent_of(head: Head) -> str:
    """Name the client program in printable ASCII."""
    agent = (head.first(b"user-agent") or b"").decode("ascii", "replace")
    printable = "".join(c if c.isprintable() and c.isascii() else "?" for c in agent)
    return printable[:USER_AGENT_CHARACTERS]
