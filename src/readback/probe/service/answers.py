"""The forms of answers: of OpenAI-compatible APIs, and of Readback.

Providers, gateways and local servers agree on little more than the list of models, so
several forms of an error are accepted. Each function judges a single response. Nothing
is sent from here, and every text that is returned is safe to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from readback.contract import REFUSALS
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.transport.exchanges import ProbeResponse

NO_SUCH_PATH = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
# The field with the name of a model, in long lists.
_LIST_START = 1024


@dataclass(frozen=True)
class ApiError:
    """An error body; the texts are as received and not safe to show."""

    message: str
    code: str = ""

    @property
    def shown(self) -> str:
        """The message; the report is searched for the key later."""
        return sanitize(self.message) or say("no_explanation")


def inside(content: Any, *path: str | int) -> Any:
    """Return what parsed JSON has at this path, or None."""
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
    """Return the ids in a list of models, or None if it is not such a list."""
    content = response.json
    rows = content.get("data") if isinstance(content, dict) else content
    if response.status != HTTPStatus.OK or not isinstance(rows, list):
        return None
    ids = [row.get("id") for row in rows if isinstance(row, dict)]
    names = [name for name in ids if isinstance(name, str)]
    return names if len(names) == len(rows) else None


def is_long_list(response: ProbeResponse) -> bool:
    """Return whether this seems to be a list of models that was read only in part."""
    start = response.body[:_LIST_START].lstrip()
    is_list = start[:1] == b"[" or (start[:1] == b"{" and b'"data"' in start)
    is_list = is_list and b'"id"' in start
    return response.status == HTTPStatus.OK and response.is_too_large and is_list


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
    # Some APIs have a status as the code, and say what it is in the type.
    code = f"{inside(error, 'code') or ''} {inside(error, 'type') or ''}"
    return ApiError(message, code) if isinstance(message, str) else None


def is_from_api(response: ProbeResponse) -> bool:
    """Return whether an OpenAI-compatible API responded to GET /models."""
    if is_html(response):
        return False
    content = response.json
    if response.status == HTTPStatus.UNAUTHORIZED:
        # Any web server may answer in this way. Such an API asks for a bearer token, or
        # has an error in its body; FastAPI has a detail.
        scheme = response.headers.get("WWW-Authenticate", "").lower()
        is_detail = isinstance(inside(content, "detail"), str)
        is_error = is_detail or error_in(content) is not None
        return is_error or scheme.startswith("bearer")
    if response.status >= HTTPStatus.BAD_REQUEST:
        # An error that is only a text may be anything's, such as a proxy's.
        is_text = isinstance(inside(content, "error"), str)
        # FastAPI asks for the key in this way, with 403.
        is_asked = inside(content, "detail") == "Not authenticated"
        return is_asked or (not is_text and error_in(content) is not None)
    return model_ids(response) is not None or is_long_list(response)


def has_path(response: ProbeResponse) -> bool:
    """Return whether the API has the path that was asked for, whatever it responds."""
    # FastAPI refuses an empty request with a list of what it lacks.
    details = inside(response.json, "detail")
    is_refused = response.status == HTTPStatus.UNPROCESSABLE_ENTITY and bool(details)
    if is_refused or isinstance(inside(response.json, "choices"), list):
        return True
    return is_from_api(response) and response.status not in NO_SUCH_PATH


@dataclass(frozen=True)
class ParsedRefusal:
    """A refusal in the form that the contract defines."""

    code: str
    detail: str
    is_explained: bool
    """Whether the detail is that of Readback, which differs for each cause."""


def parse_refusal(response: ProbeResponse) -> ParsedRefusal | None:
    """Return the refusal if code and status are those of the contract, else None."""
    detail = response.headers.get("X-Error-Detail", "")
    content = response.json
    error = inside(content, "error")
    if not isinstance(error, dict):
        return None
    # A gateway may have added fields, but then our own header must tell whose it is.
    # An operator may have enabled `message`.
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
