"""Steps that check the contract: model list, size limit, URL parameters, reuse."""

from __future__ import annotations

from http import HTTPStatus

from readback.contract import MAX_CONTENT_BYTES, MODEL_LIST
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis
from readback.probe.diagnoses import diagnose
from readback.probe.service.api_answers import parse_json
from readback.probe.service.echo import request_body
from readback.probe.service.fields import without_added
from readback.probe.service.refusals import parse_refusal, refusal_error
from readback.probe.service.unexpected import unexpected_response
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import MODELS, ProbeContext

_TRANSIENT = ("rate_limited", "unavailable", "internal_error")


def check_models(context: ProbeContext) -> Diagnosis:
    # Added fields are a finding of the step "in between".
    models = without_added(parse_json(context.models.body), MODEL_LIST)
    is_right = models == MODEL_LIST
    return diagnose("models.ok" if is_right else "models.changed")


def check_limit(context: ProbeContext) -> Diagnosis:
    response = context.post_chat(request_body("x" * (MAX_CONTENT_BYTES + 1)))
    _raise_if_transient(response)
    refusal = parse_refusal(response)
    if refusal and refusal.code == "content_too_large":
        return diagnose("limit.refused", figure=str(response.status))
    if response.status == HTTPStatus.OK:
        return diagnose("limit.ignored")
    return diagnose("limit.refused_elsewhere", status=response.status)


def check_parameter(context: ProbeContext) -> Diagnosis:
    response = context.get(f"{MODELS}?probe=1")
    _raise_if_transient(response)
    refusal = parse_refusal(response)
    if refusal and refusal.code == "not_found":
        return diagnose("parameter.refused", figure=str(response.status))
    if response.status != HTTPStatus.OK and not refusal:
        raise unexpected_response(response, f"{context.base_url}{MODELS}")
    return diagnose("parameter.ignored", status=response.status)


def check_reuse(context: ProbeContext) -> Diagnosis:
    with context.new_client() as client:
        first, second = (context.get(MODELS, client=client) for _ in range(2))
    is_kept = second.timing.connect is None
    figure = format_duration(second.timing.total)
    return diagnose(
        "reuse.ok" if is_kept else "reuse.closed",
        figure=figure,
        first_milliseconds=round(first.timing.total * 1000, 3),
        second_milliseconds=round(second.timing.total * 1000, 3),
    )


def _raise_if_transient(response: ProbeResponse) -> None:
    """Raise `ProbeError` if the service is only busy or temporarily unavailable."""
    refusal = parse_refusal(response)
    if refusal and refusal.code in _TRANSIENT:
        raise refusal_error(response, refusal)
