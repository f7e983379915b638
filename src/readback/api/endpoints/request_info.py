"""What the head says about a request: endpoint, key, media type and program."""

import re
from dataclasses import dataclass

from readback import contract, keys
from readback.api.endpoints.near_misses import NearMiss, explain_not_found
from readback.api.endpoints.presented_key import explain_no_key
from readback.http.head import Head
from readback.programs import advise

# Programs that contain a browser put their own name after this in the User-Agent.
_BROWSER_ENGINE = re.compile(r" AppleWebKit/[0-9.]+ \(KHTML, like Gecko\)")
_ENDPOINTS = {
    (b"GET", contract.MODELS_PATH.encode()): contract.MODELS,
    (b"POST", contract.CHAT_PATH.encode()): contract.CHAT,
}
# If the key has the usual form, only these fields are read here.
READ_FIELDS = frozenset(
    b"content-encoding content-type origin prefer user-agent".split()
)
_TO_PRINTABLE = bytes(c if 0x20 <= c < 0x7F else ord("?") for c in range(256))
# Anything after this in a User-Agent or list of preferences is ignored.
_EXAMINED_BYTES = 1024
# RFC 7240 §2: preferences are case-insensitive, and may have parameters.
_EXPLAIN = re.compile(rb"(?:\A|,)[ \t]*+explain[ \t]*+(?:[,;]|\Z)", re.IGNORECASE)
ENCODED = "The body has a Content-Encoding."
# What curl sends by default, and what browsers send.
_FORM_TYPES = (b"application/x-www-form-urlencoded", b"multipart/form-data")


@dataclass(eq=False, slots=True)
class RequestInfo:
    """What a head says. Each detail is a reason to refuse the request, or empty."""

    endpoint: str
    near_miss: NearMiss | None  # if there is no such endpoint
    no_key_detail: str  # empty if the key has the usual form
    media_type_detail: str
    user_agent: str
    asks_to_explain: bool  # in the body of a refusal


def describe(head: Head) -> RequestInfo:
    endpoint = _ENDPOINTS.get((head.method, head.target), contract.OTHER)
    user_agent = _user_agent(head)
    preferences = b",".join(head.all(b"prefer"))
    is_found = endpoint != contract.OTHER
    return RequestInfo(
        endpoint=endpoint,
        near_miss=None if is_found else _explain_not_found(head, user_agent),
        no_key_detail="" if head.key else explain_no_key(head),
        # Only a chat has a body that is read as JSON.
        media_type_detail=explain_media_type(head) if endpoint == contract.CHAT else "",
        user_agent=user_agent,
        asks_to_explain=_EXPLAIN.search(preferences[:_EXAMINED_BYTES]) is not None,
    )


def _explain_not_found(head: Head, user_agent: str) -> NearMiss:
    from_browser = head.first(b"origin") is not None
    miss = explain_not_found(head.method, head.target, from_browser=from_browser)
    if not miss.difference:
        return miss
    hint = advise(user_agent, [miss.difference], connected=False)
    return miss._replace(sentence=f"{miss.sentence} {hint}")


def explain_media_type(head: Head) -> str:
    """Return why the body is not plain application/json, or an empty string."""
    if head.first(b"content-encoding") is not None:
        return ENCODED
    types = head.all(b"content-type")
    if not types:
        return "The Content-Type header is missing; it must be application/json."
    if len(types) > 1:
        return "The Content-Type header appears more than once; send it once."
    media_type = types[0].split(b";", 1)[0].strip(b" \t").lower()
    if media_type == b"application/json":
        return ""
    if media_type in _FORM_TYPES:
        return "The Content-Type is that of a form; it must be application/json."
    return "The Content-Type must be application/json."


def _user_agent(head: Head) -> str:
    """Return the start of the User-Agent in printable ASCII, without any key."""
    value = (head.first(b"user-agent") or b"")[:_EXAMINED_BYTES]
    agent = value.translate(_TO_PRINTABLE).decode()
    telling = _BROWSER_ENGINE.sub("", agent, count=1)
    return keys.hidden(telling)[: contract.JOURNAL_USER_AGENT_LENGTH]
