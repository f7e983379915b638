"""What the body of a response says, and what was done to it on its way.

Each function judges a single response, and every text that is returned is safe to show.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from readback.probe.common.catalogue import say
from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import ProbeError
from readback.probe.service import answers
from readback.probe.transport.exchanges import ProbeResponse, end_of_json

_DECODED = {"", "identity", "gzip", "deflate"}
# Fields in which gateways and frameworks have their message.
_MESSAGES = (
    *("error.message", "error.reason", "error_description", "message", "Message"),
    *("detail", "detail.0.msg", "errors.0.message", "errors.0", "error.0.message"),
    *("msg", "error_msg", "error", "title"),
)
_XML_MESSAGE = re.compile("<Message>([^<]*)</Message>")
_HEADING = re.compile("<h1[^<>]*>([^<]*)</h1>", re.IGNORECASE)
_MAX_TEXT_BYTES = 400
# An object in a call (JSONP) or in a string.
_WRAPPED = re.compile(r"""(["\\]{1,8}|[\w.$/*]{1,40}\()\s*\{\s*\\{0,8}["'\w]""")
_SHOWN_START = 40


def words(response: ProbeResponse) -> str:
    """Return the message of an error in quotation marks, or ""."""
    content = response.json
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    found = (answers.inside(content, *path.split(".")) for path in _MESSAGES)
    texts = (said for said in (content, *found) if isinstance(said, str))
    said = next(filter(str.strip, texts), "")
    if content is None and answers.is_html(response):
        text = response.text
        match = _XML_MESSAGE.search(text) or _HEADING.search(text)
        said = page_title(text) or (match[1] if match else "")
    elif content is None and len(response.body) <= _MAX_TEXT_BYTES:
        said = response.text
    return say("quoted", text=answers.ApiError(said).shown) if said.strip() else ""


def error_in_success(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a status 200 whose body is an error, if it is one."""
    error = answers.error_in(response.json)
    if response.status != HTTPStatus.OK or error is None:
        return None
    status = response.status
    return ProbeError("http.error_in_success", status=status, detail=error.shown)


def changed(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a response of Readback whose body is not the one it sent.

    Its own headers prove that it is from a Readback.
    """
    # Gateways number requests, too.
    is_numbered = (
        response.status == HTTPStatus.OK and "X-Request-Id" in response.headers
    )
    is_own = is_numbered or "X-Error-Detail" in response.headers
    if not is_own or isinstance(response.json, dict):
        return None
    start = sanitize(response.body[:_SHOWN_START].decode("utf-8", "replace"))
    how = say("is_damaged", start=start) if start else say("is_empty")
    return spoiled(response) or ProbeError("http.spoiled", how=how)


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for JSON that is unreadable: cut, compressed, or wrapped."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        how = say("is_compressed", coding=sanitize(coding))
        return ProbeError("http.spoiled", how=how)
    if response.is_too_large:
        return None
    text = response.body.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    start = sanitize(text[:_SHOWN_START])
    other = ProbeError("http.spoiled", how=say("is_not_json", start=start))
    if not text.startswith("{"):
        declared = response.headers.get("Content-Type", "")
        if "json" in declared and "\ufffd" in text and response.json is None:
            return ProbeError("http.spoiled", how=say("is_binary"))
        return other if _WRAPPED.match(text) else None
    try:
        end = end_of_json(text)
    except json.JSONDecodeError as error:
        # The end of the text, or a string or word that begins but does not end there.
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(text) - 5
        how = say("ends_in_json", count=len(response.body))
        return ProbeError("http.spoiled", how=how) if is_cut else other
    except (ValueError, RecursionError):  # A number without an end, for example.
        return None
    rest = len(text[end:].encode())
    how = say("extra_bytes", count=rest)
    return ProbeError("http.spoiled", how=how) if rest else None
