"""The step "key accepted" of a Readback: whether the key arrives and is accepted."""

from __future__ import annotations

import re
from http import HTTPStatus

from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.api_answers import parse_json
from readback.probe.service.refusals import ParsedRefusal, parse_refusal, refusal_error
from readback.probe.service.unexpected import unexpected_response
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import MODELS, ProbeContext

# What the service says about a header or a key that is not well-formed.
_OF_FORM = re.compile("not a valid key|Authorization|Bearer|^The key ")


def check(context: ProbeContext) -> Diagnosis:
    if not context.key:
        raise ProbeError("key.none")
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    response = context.get(MODELS)
    is_list = isinstance(parse_json(response.body), dict)
    if response.status != HTTPStatus.OK or not is_list:
        raise _error(context, response)
    context.models = response
    figure = format_duration(response.timing.answer)
    return diagnose("key.accepted", figure=figure, sent_to=context.key_sent_to)


def _error(context: ProbeContext, response: ProbeResponse) -> ProbeError:
    refusal = parse_refusal(response)
    if refusal is None:
        return unexpected_response(response, f"{context.base_url}{MODELS}")
    if refusal.code == "invalid_key":
        return _key_not_accepted(context, refusal)
    return refusal_error(response, refusal)


def _key_not_accepted(context: ProbeContext, refusal: ParsedRefusal) -> ProbeError:
    """Return the error for a key that was refused, changed or lost."""
    id = "key.refused"
    if refusal == parse_refusal(context.models_without_key):
        id = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
    elif refusal.is_explained and _OF_FORM.search(refusal.detail):
        # The form of the key has been checked here, so the service should accept it.
        id = "key.changed"
    return ProbeError(id, detail=refusal.detail, sent_to=context.key_sent_to)
