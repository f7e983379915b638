"""Steps for an OpenAI-compatible endpoint that is not a Readback: key and models.

Only the list of models is requested, which costs nothing. The key is sent only because
an API has responded at the address that the person named.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from http import HTTPStatus

from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service import recognition
from readback.probe.service.answers import (
    explanation,
    is_html,
    model_ids,
    parse_error,
    parse_json,
)
from readback.probe.service.unexpected import unexpected_response
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import MODELS, ProbeContext

_SHOWN_MODELS = 5
_NEAR_NAMES = 3
# Some gateways list hundreds; comparing more would only take time.
_COMPARED_MODELS = 5000
_NO_MONEY = ("insufficient_quota", "billing", "insufficient_balance", "credit")
_REFUSED: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "key.refused_elsewhere",
    HTTPStatus.FORBIDDEN: "endpoint.forbidden",
    HTTPStatus.PAYMENT_REQUIRED: "endpoint.quota",
    HTTPStatus.TOO_MANY_REQUESTS: "endpoint.rate_limited",
}


def check_access(context: ProbeContext) -> Diagnosis:
    without_key = context.models_without_key
    key = context.usable_key
    no_models = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
    if key is None:
        context.models = without_key
        if without_key.status in no_models:
            return diagnose("endpoint.no_models", status=without_key.status)
        if without_key.status != HTTPStatus.OK:
            raise refused(context, without_key)
        return diagnose("endpoint.open", **_figures(context, without_key))
    if key.is_readback_key:
        raise ProbeError("key.readback_elsewhere", host=context.base_url.host)
    response = context.models = context.get(MODELS)
    says_the_same = parse_error(response) == parse_error(without_key)
    if response.status == HTTPStatus.UNAUTHORIZED and says_the_same:
        raise refused(context, response, "key.refused_or_lost")
    if response.status == HTTPStatus.BAD_REQUEST:
        # Only the key is new in this request. Google's APIs and LiteLLM respond so.
        raise refused(context, response, "key.refused_elsewhere")
    if response.status in no_models:
        return diagnose("endpoint.no_models", status=response.status)
    if response.status != HTTPStatus.OK or is_html(response):
        raise refused(context, response)
    is_open = without_key.status == HTTPStatus.OK
    id = "endpoint.open" if is_open else "key.accepted"
    diagnosis = diagnose(id, **_figures(context, response))
    if context.endpoint_name or not (name := recognition.program_name(response)):
        return diagnosis
    # Only the key made the name of the program known.
    context.endpoint_name = name
    return replace(diagnosis, details=(f"The service names itself: {name}.",))


def check_models(context: ProbeContext) -> list[Diagnosis]:
    """Say which models there are, or whether the one for the completion is listed."""
    if context.models.status != HTTPStatus.OK:
        return []
    names = model_ids(context.models)
    if names is None:
        return [diagnose("models.unreadable")]
    found = [_listed(context.chat_model, names)]
    if not isinstance(parse_json(context.models.body), dict):
        found.append(diagnose("models.form"))
    return found


def _listed(model: str | None, names: list[str]) -> Diagnosis:
    count = len(names)
    if model is None:
        some = ", ".join(map(sanitize, sorted(names)[:_SHOWN_MODELS]))
        more = ", …" if count > _SHOWN_MODELS else ""
        return diagnose("models.listed", count=count, names=f"{some or 'none'}{more}")
    if model in names:
        return diagnose("models.has_model", count=count, model=sanitize(model))
    near = ", ".join(map(sanitize, near_names(model, names))) or "none is similar"
    return diagnose("models.no_model", model=sanitize(model), near=near, count=count)


def near_names(model: str, names: list[str]) -> list[str]:
    """Return the names that a person may have meant, the nearest first."""
    wanted = model.lower()
    by_lower = {name.lower(): name for name in names[:_COMPARED_MODELS] if name}
    # Gateways put the provider before the name, and local servers a tag after it.
    inside = [low for low in by_lower if wanted in low or low in wanted]
    similar = difflib.get_close_matches(wanted, list(by_lower), _NEAR_NAMES)
    nearest = dict.fromkeys(sorted(inside, key=len) + similar)
    return [by_lower[low] for low in nearest][:_NEAR_NAMES]


def refused(context: ProbeContext, response: ProbeResponse, id: str = "") -> ProbeError:
    """Return the error for a request that the endpoint did not fulfil."""
    error = parse_error(response)
    if error is None and response.status != HTTPStatus.UNAUTHORIZED:
        return unexpected_response(response, f"{context.base_url}{MODELS}")
    if response.status == HTTPStatus.UNAUTHORIZED and not context.usable_key:
        id = "key.needed"
    elif response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        id = "endpoint.unavailable"
    elif error and any(word in error.code.lower() for word in _NO_MONEY):
        id = "endpoint.quota"
    wait = response.headers.get("Retry-After", "").strip()
    return ProbeError(
        id or _REFUSED.get(response.status, "endpoint.refused"),
        status=response.status,
        detail=explanation(response, context.usable_key),
        # Some services send a date instead of seconds.
        wait=wait if wait.isascii() and wait.isdigit() else "a few",
        sent_to=context.key_sent_to or "not sent",
    )


def _figures(context: ProbeContext, response: ProbeResponse) -> dict[str, str]:
    figure = format_duration(response.timing.answer)
    return {"figure": figure, "sent_to": context.key_sent_to or "not sent"}
