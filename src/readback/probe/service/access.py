"""The step "key accepted": whether the key reaches the service and is accepted."""

from __future__ import annotations

from http import HTTPStatus

from readback.probe.client import ProbeResponse
from readback.probe.context import MODELS, ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration
from readback.probe.results import Diagnosis, ProbeError
from readback.probe.service.recognition import (
    ParsedRefusal,
    parse_refusal,
    refusal_error,
    unexpected_response,
)


def check(context: ProbeContext) -> Diagnosis:
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    response = context.get(MODELS)
    if response.status != HTTPStatus.OK:
        raise _error(context, response)
    context.models = response
    return diagnose("key.accepted", figure=format_duration(response.timing.answer))


def _error(context: ProbeContext, response: ProbeResponse) -> ProbeError:
    refusal = parse_refusal(response)
    if refusal is None:
        if response.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return ProbeError("key.other_refusal", status=response.status)
        return unexpected_response(response, f"{context.base_url}{MODELS}")
    if refusal.code == "not_found":
        added = "URL parameter" in refusal.detail
        id = "http.parameter_added" if added else "http.path_changed"
        return ProbeError(id, detail=refusal.detail)
    if refusal.code == "invalid_key":
        return _key_not_accepted(context, refusal)
    return refusal_error(response, refusal)


def _key_not_accepted(context: ProbeContext, refusal: ParsedRefusal) -> ProbeError:
    """Repeat the request without a key; the same refusal means the key was lost."""
    without_key = parse_refusal(context.get(MODELS, with_key=False))
    id = "key.stripped" if refusal == without_key else "key.refused"
    return ProbeError(id, detail=refusal.detail)
