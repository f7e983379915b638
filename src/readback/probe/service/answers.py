"""What answers look like: those of an OpenAI-compatible API, and those of a Readback.

Providers, gateways and local servers agree on little more than the list of models, so
several forms of an error are accepted. Only what can be told from a single response is
told here. Nothing is sent from here, and no text leaves here unless it is safe to show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from readback.contract import EARLIEST_CREATED, REFUSALS
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import sanitize
from readback.probe.transport.exchanges import ProbeResponse

_MAX_MESSAGE = 2000
NO_SUCH_PATH = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
# Where a type is given, any value of it is right.
COMPLETION: dict[str, Any] = {
    "id": str,
    "object": "chat.completion",
    "created": int,
    "model": str,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": str},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": int, "completion_tokens": int, "total_tokens": int},
}
ERROR_FIELDS = {"error": {"code": "", "message": ""}}
"""An operator may have enabled `message`."""


@dataclass(frozen=True)
class ApiError:
    """An error body; the texts are as received and not safe to show."""

    message: str
    code: str = ""

    @property
    def shown(self) -> str:
        """The message; the report is searched for the key later."""
        return sanitize(self.message[:_MAX_MESSAGE]) or say("no_explanation")


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
    names = [id for id in ids if isinstance(id, str)]
    return names if len(names) == len(rows) else None


def error_in(content: Any) -> ApiError | None:
    """Return the error if the content has one in a form that is in use, or None."""
    if isinstance(content, list) and len(content) == 1:  # Google
        content = content[0]
    error = inside(content, "error")
    if inside(content, "object") == "error":  # older versions of vLLM
        error = content
    if isinstance(error, str):  # vLLM, LM Studio
        return ApiError(error)
    message = inside(error, "message")
    code = inside(error, "code") or inside(error, "type") or ""
    return ApiError(message, str(code)) if isinstance(message, str) else None


def is_from_api(response: ProbeResponse) -> bool:
    """Return whether an OpenAI-compatible API responded to GET /models."""
    if is_html(response):
        return False
    if response.status == HTTPStatus.UNAUTHORIZED:
        scheme = response.headers.get("WWW-Authenticate", "").lower()
        is_json = isinstance(response.json, (dict, list))
        return is_json or scheme.startswith("bearer")
    if response.status >= HTTPStatus.BAD_REQUEST:
        # An error that is only a text may be anything's, such as a proxy's.
        content = response.json
        is_text = isinstance(inside(content, "error"), str)
        return not is_text and error_in(content) is not None
    return model_ids(response) is not None


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
    # A gateway may have added fields, but then our own header must tell whose it is.
    is_foreign = not detail and any(added_fields(content, ERROR_FIELDS))
    if not isinstance(error, dict) or is_foreign:
        return None
    code, message = error.get("code"), error.get("message", "")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    row = REFUSALS.get(code)
    if row is None or response.status != row.status:
        return None
    shown = sanitize(detail or message or row.sentence)
    return ParsedRefusal(code, shown, is_explained=bool(detail))


def completion_faults(completion: Any) -> list[str]:
    """Return the fields of a completion that differ from the contract, but its text."""
    found = list(faults(completion, COMPLETION))
    usage = [inside(completion, "usage", name) for name in COMPLETION["usage"]]
    if all(type(number) is int for number in usage):
        sent, received, total = usage
        if not 0 < sent == received == total - sent:
            found.append("usage")
    created = inside(completion, "created")
    if type(created) is int and len(str(created)[:20]) != len(str(EARLIEST_CREATED)):
        found.append("created")
    return found


def faults(content: Any, known: Any, path: str = "") -> Iterator[str]:
    """Yield the known fields whose values differ from a known answer."""
    if isinstance(known, dict):
        for name, value in known.items():
            here = f"{path}.{name}" if path else name
            yield from faults(inside(content, name), value, here)
    elif isinstance(known, list):
        yield from faults(inside(content, 0), known[0], f"{path}[0]")
        if isinstance(content, list) and len(content) > 1:
            yield path
    elif known is int:
        if type(content) is not int:
            yield path
    elif known is not str and (content != known or type(content) is not type(known)):
        yield path


def added_fields(content: Any, known: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that a known answer does not have."""
    if isinstance(content, dict) and isinstance(known, dict):
        for name, value in content.items():
            here = f"{path}.{name}" if path else name
            if name in known:
                yield from added_fields(value, known[name], here)
            else:
                yield here
    elif isinstance(content, list) and isinstance(known, list):
        for value in content:
            yield from added_fields(value, known[0], path)
