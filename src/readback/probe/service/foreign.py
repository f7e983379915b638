"""Responses that something between the probe and the service sends or spoils.

Only what can be told from a single response is told here; whether the address is right
is a question for recognition.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.transport.client import ProbeResponse

_DECODED = {"", "identity", "gzip", "deflate"}
# What the pages say with which bot protections ask for a browser.
_CHALLENGE = re.compile(
    rb"just a moment|captcha|(are|you're) (a )?human|checking your browser"
    rb"|attention required|ddos protection",
    re.IGNORECASE,
)
_SECONDS = re.compile("[0-9]{1,9}")
_CHALLENGE_STATUSES = {403, 429, 503}
_REFUSALS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "key.other_refusal",
    HTTPStatus.FORBIDDEN: "between.blocked",
    HTTPStatus.TOO_MANY_REQUESTS: "between.rate_limited",
}


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a response that was made unreadable, if it was."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        return ProbeError("between.coding", coding=sanitize(coding))
    if rest := _trailing_bytes(response.body):
        return ProbeError("between.trailing", bytes=rest)
    return None


def explain(response: ProbeResponse, facts: dict[str, Fact]) -> ProbeError | None:
    """Return the error for a response that is not the service's, if it tells enough."""
    if error := spoiled(response):
        return error
    if _is_challenge(response):
        return ProbeError("between.challenge", tried="", **facts)
    if id := _REFUSALS.get(response.status):
        after = response.headers.get("Retry-After", "")
        wait = after if _SECONDS.fullmatch(after) else "some"
        return ProbeError(id, tried="", wait=wait, **facts)
    return None


def _is_challenge(response: ProbeResponse) -> bool:
    if "challenge" in response.headers.get("Cf-Mitigated", "").lower():
        return True
    refused = response.status in _CHALLENGE_STATUSES
    return refused and bool(_CHALLENGE.search(response.body))


def _trailing_bytes(body: bytes) -> int:
    """Return how many bytes follow a JSON object; 0 if the body starts with none."""
    text = body.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith("{"):
        return 0
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    return len(text[end:].strip().encode())
