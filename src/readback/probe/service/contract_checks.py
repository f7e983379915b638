"""Steps that hold a Readback to its contract, from the key to the address it shows."""

from __future__ import annotations

import re
from http import HTTPStatus

from readback.contract import MAX_CONTENT_BYTES, MODEL_LIST
from readback.probe.common.formatting import format_duration, sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.connection import proxies, stores
from readback.probe.diagnoses import diagnose
from readback.probe.entered import address, base_url
from readback.probe.service import answers
from readback.probe.service.echo import request_body
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import MODELS, ProbeContext

# What the service says about a header or a key that is not well-formed.
_OF_FORM = re.compile("not a valid key|Authorization|Bearer|^The key ")
_TRANSIENT = ("rate_limited", "unavailable", "internal_error")
_HELP_PAGE = "/docs/errors"


def check_access(context: ProbeContext) -> Diagnosis:
    if not context.key:
        raise ProbeError("key.none")
    if not context.key.is_readback_key:
        raise ProbeError("key.prefix")
    response = context.get(MODELS)
    is_list = isinstance(answers.parse_json(response.body), dict)
    if response.status != HTTPStatus.OK or not is_list:
        refusal = answers.parse_refusal(response)
        if refusal is None:
            raise answers.unexpected_response(response, f"{context.base_url}{MODELS}")
        if refusal.code != "invalid_key":
            raise answers.refusal_error(response, refusal)
        id = "key.refused"
        if refusal == answers.parse_refusal(context.models_without_key):
            id = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
        elif refusal.is_explained and _OF_FORM.search(refusal.detail):
            # The form of the key has been checked, so the service should accept it.
            id = "key.changed"
        raise ProbeError(id, detail=refusal.detail, sent_to=context.key_sent_to)
    context.models = response
    figure = format_duration(response.timing.answer)
    return diagnose("key.accepted", figure=figure, sent_to=context.key_sent_to)


def check_models(context: ProbeContext) -> Diagnosis:
    # Added fields are a finding of the step "in between".
    models = answers.without_added(answers.parse_json(context.models.body), MODEL_LIST)
    return diagnose("models.ok" if models == MODEL_LIST else "models.changed")


def check_limit(context: ProbeContext) -> Diagnosis:
    response = context.post_chat(request_body("x" * (MAX_CONTENT_BYTES + 1)))
    _raise_if_transient(response)
    refusal = answers.parse_refusal(response)
    if refusal and refusal.code == "content_too_large":
        return diagnose("limit.refused", figure=str(response.status))
    if response.status == HTTPStatus.OK:
        return diagnose("limit.ignored")
    return diagnose("limit.refused_elsewhere", status=response.status)


def check_parameter(context: ProbeContext) -> Diagnosis:
    response = context.get(f"{MODELS}?probe=1")
    _raise_if_transient(response)
    refusal = answers.parse_refusal(response)
    if refusal and refusal.code == "not_found":
        return diagnose("parameter.refused", figure=str(response.status))
    if response.status != HTTPStatus.OK and not refusal:
        raise answers.unexpected_response(response, f"{context.base_url}{MODELS}")
    return diagnose("parameter.ignored", status=response.status)


def check_reuse(context: ProbeContext) -> Diagnosis:
    with context.new_client() as client:
        first, second = (context.get(MODELS, client=client) for _ in range(2))
    is_kept = second.timing.connect is None
    return diagnose(
        "reuse.ok" if is_kept else "reuse.closed",
        figure=format_duration(second.timing.total),
        first_milliseconds=round(first.timing.total * 1000, 3),
        second_milliseconds=round(second.timing.total * 1000, 3),
    )


def _raise_if_transient(response: ProbeResponse) -> None:
    """Raise `ProbeError` if the service is only busy or temporarily unavailable."""
    refusal = answers.parse_refusal(response)
    if refusal and refusal.code in _TRANSIENT:
        raise answers.refusal_error(response, refusal)


def check_cabinet(context: ProbeContext) -> Diagnosis:
    # The help link of a refusal leads to a page of the cabinet.
    page = context.help_link.partition("#")[0]
    is_help = page.startswith(("http://", "https://")) and page.endswith(_HELP_PAGE)
    cabinet = context.cabinet_url or (page.removesuffix(_HELP_PAGE) if is_help else "")
    if not cabinet:
        return diagnose("cabinet.unknown")
    shown = _address_json(context, cabinet.rstrip("/"))
    current = _normalize(shown.get("base_url"))
    if current == str(context.base_url):
        return diagnose("cabinet.same", cabinet=sanitize(cabinet))
    facts = {"current": sanitize(current), "since": sanitize(str(shown.get("since")))}
    moved = _normalize(shown.get("previous")) == str(context.base_url)
    return diagnose("cabinet.moved" if moved else "cabinet.differs", **facts)


def _address_json(context: ProbeContext, cabinet: str) -> dict[str, object]:
    """Ask the cabinet, without the key, through the proxy set for its host."""
    try:
        target = base_url.split(f"{cabinet}/address.json")
        _, route = proxies.check(target)
        # The cabinet may use https even if the API does not.
        needs_trust = target.is_encrypted and context.trusted is None
        trusted = stores.together() if needs_trust else None
        with context.new_client(route, trusted=trusted) as client:
            context.cabinet = response = client.request("GET", target.path)
        context.cabinet_host = target.host
    except ProbeError as error:
        if error.id == "skipped.budget":
            raise
        reason = "it cannot be reached"
    else:
        content = answers.parse_json(response.body)
        if response.status == HTTPStatus.OK and isinstance(content, dict):
            return content
        reason = f"it responded with {response.status}"
    raise ProbeError("cabinet.unreachable", cabinet=sanitize(cabinet), reason=reason)


def _normalize(url: object) -> str:
    """Return an address in the form in which two addresses can be compared."""
    try:
        return str(address.parse(str(url or ""))[0])
    except ProbeError:
        return str(url)
