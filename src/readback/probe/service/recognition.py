"""The step "HTTP": which service, or what else, responds at the address.

Its requests are sent without the key, so that no stranger receives it. Readback is
recognized by the two refusals that the contract promises, and any other
OpenAI-compatible API by its list of models, by how it refuses to show the list, or by a
refused completion. If something only asks for credentials, the next step sends the key,
because it may be a gateway to an API.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

from readback import keys
from readback.contract import HEALTH_PATH, VERSION_PREFIX
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.results import Diagnosis, Fact, ProbeError, Service, Verdict
from readback.probe.connection import tls
from readback.probe.entered.base_url import (
    GOOGLE_VERSION,
    PORTS,
    BaseUrl,
    shown_url,
    with_version,
)
from readback.probe.service import answers, credentials, instead
from readback.probe.transport.context import CHAT, MODELS, UNKNOWN, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse
from readback.probe.transport.opening import WEB_SERVER

# The usual path, then those of OpenRouter, of Groq and Azure, and of Gemini.
_USUAL_PATHS = (VERSION_PREFIX, "/api/v1", "/openai/v1", "/v1beta/openai")
# A key that no Readback server accepts: its checksum is wrong.
_NO_KEY = keys.PREFIX + "0" * (keys.LENGTH - len(keys.PREFIX))
_SERVER_ERROR = HTTPStatus.INTERNAL_SERVER_ERROR
# How nginx, Go and Apache say that a port expects TLS.
_TO_TLS_PORT = re.compile("HTTP.* to (an )?HTTPS (port|server)|to an SSL-enabled")


def check(context: ProbeContext) -> list[Diagnosis]:
    context.client = context.new_client()
    unknown, models = _first_answers(context)
    if unknown.is_upgrade and context.base_url.port == PORTS["http"]:
        return _over_tls(context)
    if behind := _behind_gateway(context, models):
        context.models_without_key = models
        return _readback(context, *behind)
    mistakes: list[Diagnosis] = []
    chat = None if answers.has_path(models) else _refused_chat(context, models)
    # Readback has both paths. If its API refuses the completion, a proxy or a web
    # server answered the request for the list of models.
    has_chat = chat and answers.has_path(chat) and not answers.parse_refusal(chat)
    if not has_chat and (found := _other_base(context, models)):
        corrected, models = found
        mistakes = [_correct(context, corrected)]
        unknown = context.ask(UNKNOWN, with_key=False)
    context.models_without_key = models
    for response in (unknown, models):
        if error := answers.changed(response) or answers.spoiled(response):
            raise error
    if _is_readback(unknown, models):
        return mistakes + _readback(context, unknown, models)
    if has_chat or answers.has_api(models):
        what = diagnose("http.endpoint", figure=models.figure, status=models.status)
    else:
        what = _try_key(context, models, chat)
    context.service = Service.ENDPOINT
    return [*mistakes, what]


def _over_tls(context: ProbeContext) -> list[Diagnosis]:
    """Go on with the https address to which the service redirects."""
    secure = replace(context.base_url, scheme="https", port=PORTS["https"])
    context.base_url = secure
    context.route = replace(context.route, target=secure)
    problems = [found for found in tls.check(context) if found.verdict != Verdict.OK]
    warning = diagnose("address.unencrypted", base_url=str(secure))
    return [warning, *problems, *check(context)]


def _first_answers(context: ProbeContext) -> tuple[ProbeResponse, ProbeResponse]:
    try:
        unknown = context.ask(UNKNOWN, with_key=False)
    except ProbeError as failure:
        raise _examine_port(context, failure) from None
    # Web servers respond to plain HTTP on a TLS port with 400.
    is_bad = unknown.status == HTTPStatus.BAD_REQUEST
    if is_bad and (_TO_TLS_PORT.search(unknown.text) or _expects_tls(context)):
        raise ProbeError("http.tls_port", port=context.base_url.port)
    return unknown, context.ask(MODELS, with_key=False)


def _behind_gateway(
    context: ProbeContext, models: ProbeResponse
) -> tuple[ProbeResponse, ProbeResponse] | None:
    """Return Readback's answers to a made-up key if a gateway blocks other requests."""
    key = context.usable_key
    is_known = answers.parse_refusal(models) or models.status >= _SERVER_ERROR
    if not (key and key.is_readback_key) or is_known or context.headers:
        return None
    is_behind = False
    context.headers["Authorization"] = f"Bearer {_NO_KEY}"
    try:
        unknown = context.ask(UNKNOWN, with_key=False)
        models = context.ask(MODELS, with_key=False)
        is_behind = _is_readback(unknown, models)
    except ProbeError as error:
        if error.id.startswith("skipped."):
            raise
    finally:
        if not is_behind:
            context.headers.clear()
    return (unknown, models) if is_behind else None


def _correct(context: ProbeContext, corrected: BaseUrl) -> Diagnosis:
    path = context.base_url.path
    is_version = corrected.path == f"{path}{VERSION_PREFIX}"
    facts = {"path": path or "/", "found": corrected.path or "/"}
    wrong = say("no_version") if is_version else say("no_api_at_path", **facts)
    context.base_url = corrected
    context.route = replace(context.route, target=corrected)
    return diagnose("address.corrected", mistakes=wrong, base_url=str(corrected))


def _is_readback(unknown: ProbeResponse, models: ProbeResponse) -> bool:
    """Return whether both are Readback's refusals; raise if one is a server error."""
    refused = {
        response.status < _SERVER_ERROR: response for response in (unknown, models)
    }
    is_ours, is_explained = map(answers.parse_refusal, (unknown, models))
    if len(refused) == 2 and (is_ours or is_explained):
        raise instead.unexpected_response(refused[False])
    is_proved = is_explained or (is_ours and is_ours.is_explained)
    return bool(is_ours and (is_proved or not answers.is_from_api(models)))


def _refused_chat(context: ProbeContext, models: ProbeResponse) -> ProbeResponse | None:
    """If there is no model list, return the answer to an empty completion request.

    Raise `ProbeError` if Readback refuses it but something in between hides the list.
    """
    is_page = answers.is_html(models) and models.is_success
    if models.status not in answers.NO_SUCH_PATH and not is_page:
        return None
    chat = context.ask(CHAT, b"{}", with_key=False)
    refusal = answers.parse_refusal(chat)
    is_there = refusal is not None and refusal.code != "not_found"
    if is_there or (refusal and models.status != HTTPStatus.NOT_FOUND):
        raise instead.unexpected_response(models)
    return chat


def _other_base(
    context: ProbeContext, models: ProbeResponse
) -> tuple[BaseUrl, ProbeResponse] | None:
    base_url = context.base_url
    if answers.has_path(models) and not base_url.path.endswith(GOOGLE_VERSION):
        return None
    versioned = with_version(base_url)
    tried = [] if base_url.path.endswith(VERSION_PREFIX) else [versioned]
    if models.status in (*answers.NO_SUCH_PATH, HTTPStatus.OK):
        # The service may use another version, or none although the user appended /v1.
        parent = base_url.path.removesuffix(VERSION_PREFIX)
        paths = (parent, *_USUAL_PATHS) if parent else _USUAL_PATHS
        tried += [replace(base_url, path=path) for path in paths]
    for candidate in dict.fromkeys(tried):
        if candidate == base_url:
            continue
        other = context.client.request(f"{candidate.path}{MODELS}")
        is_list = answers.model_ids(other) is not None
        error = answers.inside(other.json, "error")
        is_refusal = other.status == HTTPStatus.UNAUTHORIZED and isinstance(error, dict)
        is_version = candidate == versioned and answers.has_path(other)
        if is_list or is_refusal or is_version:
            return candidate, other
    return None


def _readback(
    context: ProbeContext, unknown: ProbeResponse, models: ProbeResponse
) -> list[Diagnosis]:
    refusals = answers.parse_refusal(unknown), answers.parse_refusal(models)
    codes = [refusal.code if refusal else "" for refusal in refusals]
    if codes == ["not_found", "not_found"]:
        # The operators' port has no model list, but it answers health checks.
        health = context.client.request(HEALTH_PATH).json
        if health == {"status": "ok"}:
            said = say("operations_port")
            raise _no_such_path(context, status=unknown.status, title=said)
        _refuse_cabinet(context)
    if codes[0] != "not_found":
        raise instead.unexpected_response(unknown)
    # A gateway may protect only the paths that the API has.
    if codes[1] != "invalid_key" and not credentials.depends_on_key(models):
        raise instead.unexpected_response(models)
    context.service = Service.READBACK
    return [diagnose("http.readback", figure=unknown.figure)]


def _try_key(
    context: ProbeContext, models: ProbeResponse, chat: ProbeResponse | None
) -> Diagnosis:
    """Let the next step try the key; raise `ProbeError` if it must not be sent."""
    is_chat = chat and credentials.asks(chat) and not answers.parse_refusal(chat)
    asked = chat if chat and is_chat else models
    has_consent = credentials.accepts_consent(context, asked)
    if not (credentials.asks(asked) or has_consent):
        raise _stranger(context, models, asked)
    if error := credentials.kept(context, asked):
        raise error
    context.is_tried = True
    said = answers.words(asked) or say("no_explanation")
    return diagnose("http.asks", figure=asked.figure, status=asked.status, title=said)


def _stranger(
    context: ProbeContext, models: ProbeResponse, asked: ProbeResponse
) -> ProbeError:
    if models.proxy and models.status in WEB_SERVER and _is_anyone(context, models):
        said = f"{models.status} {answers.words(models)}".rstrip()
        why = say("is_web_server", reason=said)
        facts: dict[str, Fact] = models.proxy.facts(context.base_url)
        return ProbeError("proxy.wrong_kind", why=why, **facts)
    # Readback's cabinet refuses the API's paths in the form that the contract sets.
    if answers.is_html(models) or answers.parse_refusal(models):
        _refuse_cabinet(context)
    is_down = models.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if asked is models and answers.is_from_api(models) and not is_down:
        said = answers.words(asked) or say("no_explanation")
        return _no_such_path(context, status=asked.status, title=said)
    if not context.usable_key and credentials.misses_key(asked):
        return ProbeError("key.none", detail=f": {answers.words(asked)}")
    kept = credentials.kept(context, asked)
    if kept and credentials.depends_on_key(asked):
        return kept
    judged = instead.unexpected_response(asked, is_recognized=False)
    is_missing = judged.id == "http.no_such_path"
    return _no_such_path(context, **judged.facts) if is_missing else judged


def _no_such_path(context: ProbeContext, **facts: Fact) -> ProbeError:
    """Return the error, with what the server shows at its root, such as its name."""
    key = context.usable_key
    is_ours = key and key.is_readback_key
    root = ""
    with suppress(ProbeError):
        page = context.client.request("/")
        said = answers.words(page) if page.is_success else ""
        root = say("at_root", said=said) if said else ""
    paths = "" if is_ours else say("usual_paths")
    return ProbeError("http.no_such_path", **{**facts, "root": root, "paths": paths})


def _is_anyone(context: ProbeContext, models: ProbeResponse) -> bool:
    """Return whether a proxy responds in the same way for a host that cannot exist."""
    own = context.base_url.host
    nowhere = "nowhere.invalid"  # RFC 6761 §6.4
    route = replace(context.route, target=replace(context.base_url, host=nowhere))
    with suppress(ProbeError), context.new_client(route) as client:
        answer = client.request(f"{context.base_url.path}{MODELS}")
        said = answers.words(answer).replace(nowhere, own)
        return (answer.status, said) == (models.status, answers.words(models))
    return False


def _refuse_cabinet(context: ProbeContext) -> None:
    """Raise `ProbeError` with the API's address if this is Readback's cabinet."""
    try:
        answer = context.client.request("/address.json")
    except ProbeError:
        return
    api = answers.inside(answer.json, "base_url")
    if answer.status == HTTPStatus.OK and isinstance(api, str):
        raise ProbeError("http.cabinet", api=shown_url(api))


def _examine_port(context: ProbeContext, error: ProbeError) -> ProbeError:
    """Return a more specific error if the port expects TLS or is no proxy's port."""
    if (proxy := context.route.forwarder) and error.id == "http.cut":
        facts = proxy.facts(context.base_url)
        return ProbeError("proxy.wrong_kind", why=say("it_closed"), **facts)
    is_strange = error.id in ("http.cut", "http.malformed", "http.not_http")
    if is_strange and _expects_tls(context):
        return ProbeError("http.tls_port", port=context.base_url.port)
    return error


def _expects_tls(context: ProbeContext) -> bool:
    is_plain = not (context.base_url.is_encrypted or context.route.proxy)
    return is_plain and tls.speaks_tls(context)
