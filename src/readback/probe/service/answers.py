"""Recognizes the forms of answers, their messages, and changes made in transit.

Providers, gateways and local servers agree on little more than the list of models, so
several forms of an error are accepted. The strings that `words` returns, and those in
refusals and `ProbeError`s, are safe to show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from readback.contract import REFUSALS
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import ProbeError
from readback.probe.transport.exchanges import ProbeResponse, parse_json

NO_SUCH_PATH = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
_DECODED = {"", "identity", "gzip", "deflate"}
# Fields in which gateways and frameworks put their message, in lower case and without
# underscores, the most precise first; and how many of them may enclose it.
_MESSAGES = (
    *("message", "errormessage", "errordescription", "detail", "msg", "errormsg"),
    *("statusmsg", "faultstring", "errors", "error", "reason", "title", "fault"),
    "baseresp",
)
_DEPTH = 4
# How services and gateways refuse a country or an IP address.
_PLACE = re.compile(
    r"countr(y|ies)\b|territor|(your|user) (location|region)\b|allow[-_ ]?list"
    r"|white[-_ ]?list|virtual network|public (network )?access"
    r"|\bip[ _-]((address(es)?|is|was|has been) )*(not|acl|blocked|denied|restrict)",
    re.IGNORECASE,
)
_PLACE_STATUSES = (400, 401, 403, 451)
_XML_MESSAGE = re.compile("<Message>([^<]*)</Message>")
_FIELDS = re.compile(r"\b(messages|model)\b")
_HEADING = re.compile("<h1[^<>]*>([^<]*)</h1>", re.IGNORECASE)
_MAX_TEXT_BYTES = 400
# A JSON object inside a function call (JSONP) or a string.
_WRAPPED = re.compile(r"""(["\\]{1,8}|[\w.$/*]{1,40}\()\s*\{\s*\\{0,8}["'\w]""")
_SHOWN_START = 40
_SHOWN_END = 20


@dataclass(frozen=True)
class ApiError:
    """An error in a body; its strings are as received and not safe to show."""

    message: str
    code: str = ""

    @property
    def shown(self) -> str:
        """The message; a key in it is hidden later, as in the rest of the report."""
        return sanitize(self.message) or say("no_explanation")


def inside(content: Any, *path: str | int) -> Any:
    """Return the value at this path in parsed JSON, or None."""
    try:
        for step in path:
            content = content[int(step) if isinstance(content, list) else step]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return content


def is_html(response: ProbeResponse) -> bool:
    declared = "html" in response.headers.get("Content-Type", "").lower()
    return declared or response.body.lstrip()[:1] == b"<"


def model_ids(response: ProbeResponse) -> list[str] | None:
    """Return the ids in a list of models, or None if the response is not one."""
    content = response.json
    rows = content.get("data") if isinstance(content, dict) else content
    if rows is None and inside(content, "object") == "list":  # Ollama without models
        rows = []
    if not response.is_success or not isinstance(rows, list):
        return None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    names = [name for name in ids if isinstance(name, str)]
    return names if len(names) == len(rows) else None


def error_in(content: Any) -> ApiError | None:
    """Return the error in the content, in any common form, or None."""
    if isinstance(content, list) and len(content) == 1:  # Google
        content = content[0]
    error = inside(content, "error")
    if inside(content, "object") == "error":  # older versions of vLLM
        error = content
    if isinstance(error, str):  # vLLM, LM Studio
        return ApiError(error)
    message = inside(error, "message")
    # Some APIs put the status into `code` and the name of the error into `type`.
    code = f"{inside(error, 'code') or ''} {inside(error, 'type') or ''}"
    return ApiError(message, code) if isinstance(message, str) else None


def is_from_api(response: ProbeResponse) -> bool:
    """Return whether an OpenAI-compatible API responded to GET /models."""
    if is_html(response):
        return False
    content = response.json
    if response.status == HTTPStatus.UNAUTHORIZED:
        # Any web server may answer 401. An API also asks for a bearer token or has an
        # error in its body, which FastAPI calls `detail`.
        scheme = response.headers.get("WWW-Authenticate", "").lower()
        is_detail = isinstance(inside(content, "detail"), str)
        is_error = is_detail or error_in(content) is not None
        return is_error or scheme.startswith("bearer")
    if response.status >= HTTPStatus.BAD_REQUEST:
        # An error that is only a string may come from anything, such as a proxy.
        is_text = isinstance(inside(content, "error"), str)
        # FastAPI asks for the key with this message and status 403.
        is_asked = inside(content, "detail") == "Not authenticated"
        return is_asked or (not is_text and error_in(content) is not None)
    return model_ids(response) is not None


def has_path(response: ProbeResponse) -> bool:
    """Return whether the API has the requested path, whatever its response."""
    # A complaint about missing fields of the request shows that the path exists.
    is_about_form = response.status in (400, 422) and isinstance(response.json, dict)
    is_refused = is_about_form and _FIELDS.search(response.text)
    if is_refused or isinstance(inside(response.json, "choices"), list):
        return True
    return has_api(response)


def has_api(response: ProbeResponse) -> bool:
    """Return whether an OpenAI-compatible API refuses or answers at this path."""
    # A server error may come from any proxy or gateway in between.
    is_other = response.status in NO_SUCH_PATH or response.status >= 500
    return is_from_api(response) and not is_other


@dataclass(frozen=True)
class ParsedRefusal:
    """A refusal in the form that the contract defines."""

    code: str
    detail: str
    is_explained: bool
    """Whether the detail comes from Readback's header, whose text names the cause."""


def parse_refusal(response: ProbeResponse) -> ParsedRefusal | None:
    """Return the refusal if code and status match the contract, else None."""
    detail = response.headers.get("X-Error-Detail", "")
    content = response.json
    error = inside(content, "error")
    if not isinstance(error, dict):
        return None
    # A gateway may have added fields; then Readback's own header must identify the
    # refusal. An operator may have enabled `message`.
    if not detail and not (len(content) == 1 and set(error) <= {"code", "message"}):
        return None
    code = error.get("code")
    message = error.get("message", "")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    row = REFUSALS.get(code)
    if row is None or response.status != row.status:
        return None
    shown = sanitize(detail or message or row.sentence)
    return ParsedRefusal(code, shown, is_explained=bool(detail))


def words(response: ProbeResponse) -> str:
    """Return an error's message in quotation marks, or ""."""
    content = response.json
    said = _message(content)
    place = inside(content, "detail", 0, "loc")
    if isinstance(place, list) and place:  # FastAPI names the field beside the message.
        said = f"{place[-1]}: {said}"
    if content is None and is_html(response):
        text = response.text
        match = _XML_MESSAGE.search(text) or _HEADING.search(text)
        said = page_title(text) or (match[1] if match else "")
    elif content is None and len(response.body) <= _MAX_TEXT_BYTES:
        said = response.text
    return say("quoted", text=ApiError(said).shown) if said.strip() else ""


def _message(content: Any, depth: int = _DEPTH) -> str:
    """Return the text in a field for messages, in JSON of any form, or ""."""
    while isinstance(content, list) and content:
        content = content[0]
    if isinstance(content, str):
        return content
    if not isinstance(content, dict) or not depth:
        return ""
    fields = {name.lower().replace("_", ""): content[name] for name in content}
    named = (fields[name] for name in _MESSAGES if name in fields)
    return next(filter(str.strip, (_message(each, depth - 1) for each in named)), "")


def error_in_success(response: ProbeResponse) -> ProbeError | None:
    error = error_in(response.json)
    if not response.is_success or error is None:
        return None
    status = response.status
    return ProbeError("http.error_in_success", status=status, detail=error.shown)


def changed(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a body that was replaced, if the headers are Readback's."""
    # Errors from gateways also have an X-Request-Id.
    is_numbered = response.is_success and "X-Request-Id" in response.headers
    is_own = is_numbered or "X-Error-Detail" in response.headers
    if not is_own or isinstance(response.json, dict):
        return None
    return spoiled(response) or _unreadable(response)


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for unreadable JSON: truncated, compressed or wrapped."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        how = say("is_compressed", coding=sanitize(coding))
        return ProbeError("http.spoiled", how=how)
    text = _bare(response)
    content = response.json or parse_json(text.encode())
    if response.is_cut or isinstance(content, (dict, list)):
        return None
    declared = response.headers.get("Content-Type", "")
    is_binary = "json" in declared and "\ufffd" in text
    # A script may print a warning before the JSON.
    is_after = isinstance(parse_json(text[text.find("{") :].encode()), dict)
    is_meant = text.startswith("{") or is_after or is_binary or _WRAPPED.match(text)
    return _unreadable(response) if is_meant else None


def refuses_place(response: ProbeResponse) -> bool:
    """Return whether a refusal depends on where the request comes from."""
    error = error_in(response.json)
    said = f"{words(response)} {error.code if error else ''}"
    if is_html(response) and response.status != HTTPStatus.BAD_REQUEST:
        said = response.text
    is_refusal = response.status in _PLACE_STATUSES and "model" not in said
    return is_refusal and _PLACE.search(said) is not None


def nothing_in(response: ProbeResponse) -> ProbeError | None:
    return None if _bare(response) else _unreadable(response)


def _unreadable(response: ProbeResponse) -> ProbeError:
    text = _bare(response)
    how = say(
        "is_not_json",
        count=len(response.body),
        start=sanitize(text[:_SHOWN_START]),
        end=sanitize(text[-_SHOWN_END:]),
    )
    return ProbeError("http.spoiled", how=how if text else say("is_empty"))


def _bare(response: ProbeResponse) -> str:
    """Return the body without a byte order mark or surrounding white space."""
    return response.body.decode("utf-8", "replace").strip("\ufeff \t\r\n")
