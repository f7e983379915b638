"""The step "key accepted" of a Readback: whether the key arrives and is accepted."""

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
    if not context.key:
        raise ProbeError("key.none")
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    response = context.get(MODELS)
    if response.status != HTTPStatus.OK:
        raise _error(context, response)
    context.models = response
    figure = format_duration(response.timing.answer)
    return diagnose("key.accepted", figure=figure, sent_to=context.key_sent_to)


def _error(context: ProbeContext, response: ProbeResponse) -> ProbeError:
    refusal = parse_refusal(response)
    if refusal is None:
        if response.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return ProbeError("key.other_refusal", status=response.status)
        return unexpected_response(response, f"{context.base_url}{MODELS}")
    if refusal.code == "invalid_key":
        return _key_not_accepted(context, refusal)
    return refusal_error(response, refusal)


def _key_not_accepted(context: ProbeContext, refusal: ParsedRefusal) -> ProbeError:
    """Return the error for a key that was refused or did not arrive."""
    id = "key.refused"
    if refusal == parse_refusal(context.models_without_key):
        id = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
    return ProbeError(id, detail=refusal.detail, sent_to=context.key_sent_to)
