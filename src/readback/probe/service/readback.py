"""The key of a Readback, and what its cabinet says."""

from __future__ import annotations

import re
from http import HTTPStatus

from readback.contract import REHEARSAL_KEY
from readback.probe.common.catalogue import diagnose
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.connection import proxies, stores
from readback.probe.entered import address
from readback.probe.service import answers, bodies, instead
from readback.probe.transport.context import MODELS, UNKNOWN, ProbeContext

# How the service describes a malformed header or key.
_OF_FORM = re.compile(
    "not a valid key|Authorization|Bearer|^The key |key of another service"
)
_LONG_SECONDS = 2.0


def check_access(context: ProbeContext) -> Diagnosis:
    if not context.key:
        raise ProbeError("key.none", detail="")
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    if pattern := _pattern(context):
        context.is_rehearsal = True
        return diagnose("key.rehearsal", pattern=pattern)
    without_key = context.models_without_key
    response = context.ask(MODELS)
    if answers.inside(response.json, "choices"):
        raise ProbeError("echo.swapped")
    is_list = isinstance(response.json, dict) or answers.model_ids(response) is not None
    if response.status == HTTPStatus.OK and is_list:
        if error := bodies.error_in_success(response):
            raise error
        context.models = response
        sent_to = context.key_sent_to
        return diagnose("key.accepted", figure=response.figure, sent_to=sent_to)
    refusal = answers.parse_refusal(response)
    if refusal is None or refusal.code != "invalid_key":
        raise instead.unexpected_response(response)
    request_id = response.headers.get("X-Request-Id")
    if request_id and request_id == without_key.headers.get("X-Request-Id"):
        raise ProbeError("echo.replayed")
    finding = "key.refused"
    if refusal == answers.parse_refusal(without_key):
        finding = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
    elif refusal.is_explained and _OF_FORM.search(refusal.detail):
        # The form of the key has been checked, so the service should accept it.
        finding = "key.stripped"
    raise ProbeError(finding, detail=refusal.detail, sent_to=context.key_sent_to)


def _pattern(context: ProbeContext) -> str:
    """Return the pattern of a rehearsal key, whose answers mean nothing."""
    # If the service takes seconds, the other steps need all the time.
    if context.models_without_key.seconds > _LONG_SECONDS:
        return ""
    detail = context.ask(UNKNOWN).headers.get("X-Error-Detail", "")
    return sanitize(detail.partition(REHEARSAL_KEY)[2].strip(" ."))


def named_by(context: ProbeContext, cabinet: str) -> str:
    """Return the address of the API that a cabinet shows, or ""."""
    shown = _address_json(context, cabinet.rstrip("/"))
    return _normalize(shown.get("base_url")) if shown else ""


def _address_json(context: ProbeContext, cabinet: str) -> dict[str, object]:
    """Ask the cabinet, without the key, through the proxy set for its host."""
    try:
        target = address.parse(f"{cabinet}/address.json")[0]
        _, route = proxies.check(target)
        # The cabinet may use https even if the API does not.
        needs_trust = target.is_encrypted and context.trusted is None
        trusted = stores.together() if needs_trust else None
        with context.new_client(route, trusted=trusted) as client:
            response = client.request(target.path)
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
        return {}
    content = response.json
    is_found = response.status == HTTPStatus.OK and isinstance(content, dict)
    return content if is_found else {}


def _normalize(url: object) -> str:
    """Return an address in the form in which two addresses can be compared."""
    try:
        return str(address.parse(str(url or ""))[0])
    except ProbeError:
        return str(url)
