"""Reads the refusals of a Readback, with or without the headers that explain them."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from readback.contract import REFUSALS
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError
from readback.probe.service import fields
from readback.probe.service.api_answers import parse_json
from readback.probe.transport.client import ProbeResponse


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
    code, message = _error_fields(response.body, is_signed=bool(detail))
    row = REFUSALS.get(code)
    if row is None or response.status != row.status:
        return None
    shown = sanitize(detail or message or row.sentence)
    return ParsedRefusal(code, shown, is_explained=bool(detail))


def refusal_error(response: ProbeResponse, refusal: ParsedRefusal) -> ProbeError:
    """Return the error for a correct request that Readback has refused."""
    row = REFUSALS[refusal.code]
    if refusal.code == "rate_limited":
        wait = sanitize(response.headers.get("Retry-After", "a few"))
        return ProbeError("http.rate_limited", wait=wait)
    if refusal.code == "not_found":
        added = "URL parameter" in refusal.detail and refusal.is_explained
        id = "http.parameter_added" if added else "http.path_changed"
        return ProbeError(id, detail=refusal.detail)
    facts = {"code": refusal.code, "detail": refusal.detail}
    if row.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = sanitize(response.headers.get("X-Request-Id", "none"))
        return ProbeError("http.unavailable", request_id=request_id, **facts)
    return ProbeError("http.refused", hint=row.hint, **facts)


def _error_fields(body: bytes, is_signed: bool) -> tuple[str, str]:
    """Return code and message of an error as the contract defines it, or empty ones."""
    content = parse_json(body)
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        return "", ""
    # A gateway may have added fields, but then our own header must tell whose it is.
    if not is_signed and any(fields.added(content, fields.ERROR)):
        return "", ""
    code, message = error.get("code"), error.get("message", "")
    if not isinstance(code, str) or not isinstance(message, str):
        return "", ""
    return code, message
