"""The step "HTTP": which service responds at the address, or what else does.

Its requests are sent without the key, so that no stranger ever receives it. Readback is
recognized by the two refusals that the contract promises; any other OpenAI-compatible
API by its list of models, or by the way it refuses to show it. The name of its program
counts only if the program says it of itself, in a header or a text of its own.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

from readback.contract import VERSION_PREFIX
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError, Service
from readback.probe.connection import tls
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import (
    BaseUrl,
    shown_url,
    version_mistake,
    with_version,
)
from readback.probe.service import answers, gateways, instead
from readback.probe.transport import opening
from readback.probe.transport.context import CHAT, MODELS, UNKNOWN, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse

# The headers that explain a refusal of Readback; Link only if there is a cabinet.
_EXPLAINING = ("X-Request-Id", "X-Error-Detail")
# The pattern needs linear time, whatever a peer sends.
_HELP = re.compile(r'<([^<>]*)>\s*;[^,<]*rel="?help"?')
# The beginning of a header's name, in lower case. A gateway passes on the headers of
# the provider behind it, so gateways come first.
_BY_HEADER = (
    ("x-litellm-", "LiteLLM"),
    ("apim-request-id", "Azure API Management"),
    ("openai-version", "OpenAI"),
)
_BY_SERVER = {"llama.cpp": "llama.cpp"}
_BY_OWNER = {"vllm": "vLLM", "llamacpp": "llama.cpp", "sglang": "SGLang"}
# Where APIs of this kind have their paths: OpenRouter, Groq and Azure, Gemini.
_USUAL_PATHS = (VERSION_PREFIX, "/api/v1", "/openai/v1", "/v1beta/openai")
_NOT_HERE = (*answers.NO_SUCH_PATH, HTTPStatus.OK)
_OLLAMA = b"Ollama is running"


def check(context: ProbeContext) -> list[Diagnosis]:
    context.client = context.new_client()
    is_plain = not (context.base_url.is_encrypted or context.route.proxy)
    try:
        unknown = context.ask(UNKNOWN, with_key=False)
    except ProbeError as failure:
        raise (_examine_port(context, failure) if is_plain else failure) from None
    # Web servers respond to plain HTTP on a TLS port with 400.
    is_refused = unknown.status == HTTPStatus.BAD_REQUEST
    if is_plain and is_refused and tls.speaks_tls(context):
        raise ProbeError("http.tls_port", port=context.base_url.port)
    models = context.ask(MODELS, with_key=False)
    mistakes: list[Diagnosis] = []
    if found := _other_base(context, models):
        id, corrected, models = found
        mistakes = [diagnose(id, base_url=str(corrected))]
        context.base_url = corrected
        context.route = replace(context.route, target=corrected)
        unknown = context.ask(UNKNOWN, with_key=False)
    context.models_without_key = models
    for response in (unknown, models):
        if error := instead.changed(response) or instead.spoiled(response):
            raise error
    # The refusals of a Readback follow the contract, as far as they are its own.
    is_explained = answers.parse_refusal(models) or not answers.is_from_api(models)
    if answers.parse_refusal(unknown) and is_explained:
        return mistakes + _readback(context, unknown, models)
    return [*mistakes, _endpoint(context, models)]


def _other_base(
    context: ProbeContext, models: ProbeResponse
) -> tuple[str, BaseUrl, ProbeResponse] | None:
    """Return the mistake and the right address if only another path has models."""
    if answers.has_models(models) or context.identity:
        return None
    base_url = context.base_url
    mistake = version_mistake(base_url)
    tried: dict[BaseUrl, str] = {with_version(base_url): mistake} if mistake else {}
    if models.status in _NOT_HERE:
        for path in _USUAL_PATHS:
            tried.setdefault(replace(base_url, path=path), "address.other_path")
    tried.pop(base_url, None)
    for candidate, id in tried.items():
        other = context.client.request(f"{candidate.path}{MODELS}")
        is_list = answers.model_ids(other) is not None
        error = answers.inside(other.json, "error")
        is_refusal = other.status == HTTPStatus.UNAUTHORIZED and isinstance(error, dict)
        is_version = id == mistake and answers.has_models(other)
        if is_list or is_refusal or is_version:
            return id, candidate, other
    return None


def _readback(
    context: ProbeContext, unknown: ProbeResponse, models: ProbeResponse
) -> list[Diagnosis]:
    refusals = answers.parse_refusal(unknown), answers.parse_refusal(models)
    codes = [one.code if one else "" for one in refusals]
    if codes == ["not_found", "not_found"]:
        # The port for the operator's own requests has no models, but this path.
        health = context.client.request("/healthz").json
        if health == {"status": "ok"}:
            raise ProbeError("address.ops_port", port=context.base_url.port)
    if codes[0] != "not_found":
        raise instead.unexpected_response(unknown)
    if codes[1] != "invalid_key":
        raise instead.unexpected_response(models)
    context.service = Service.READBACK
    link = _HELP.search(unknown.headers.get("Link", ""))
    context.help_link = link[1] if link else ""
    coding = unknown.headers.get("Content-Encoding", "identity").lower()
    id = "http.readback" if coding == "identity" else "http.compressed"
    found = [diagnose(id, figure=unknown.figure, coding=sanitize(coding))]
    received = (unknown.headers, models.headers)
    missing = [name for name in _EXPLAINING if any(name not in one for one in received)]
    if missing:
        found.append(diagnose("http.headers_stripped", missing=", ".join(missing)))
    return found


def _endpoint(context: ProbeContext, models: ProbeResponse) -> Diagnosis:
    # An error in the form of Anthropic's own API.
    content = models.json
    error = answers.inside(content, "error")
    is_error = answers.inside(content, "type") == "error" and isinstance(error, dict)
    if is_error and {"type", "message"} <= set(error):
        raise ProbeError("http.anthropic", status=models.status)
    gateway = gateways.find(models, f" It says: {instead.words(models)}.")
    if gateway and gateway.id == "gateway.address":
        raise gateway
    is_api = is_known = answers.is_from_api(models)
    if models.status in answers.NO_SUCH_PATH:
        # An empty request without a key costs nothing. Where there is the path, it is
        # refused.
        path = f"{context.base_url.path}{CHAT}"
        chat = context.client.request(path, body=b"{}")
        is_api = answers.has_models(chat)
    if not is_api and answers.is_html(models) and not context.identity:
        _refuse_cabinet(context)
    if not is_api and not is_known:
        raise instead.unexpected_response(models, is_recognized=False)
    if not is_api:
        said = instead.words(models) or "without an explanation"
        raise ProbeError("http.no_such_api", status=models.status, title=said)
    context.service = Service.ENDPOINT
    context.endpoint_name = program_name(models)
    if not context.endpoint_name and models.status == HTTPStatus.OK:
        # Ollama says its name at the root of the host.
        with suppress(ProbeError):
            root = context.client.request("/")
            is_ollama = (root.status, root.body.strip()) == (HTTPStatus.OK, _OLLAMA)
            context.endpoint_name = "Ollama" if is_ollama else ""
    id = "http.endpoint_named" if context.endpoint_name else "http.endpoint"
    facts: dict[str, Fact] = {"name": context.endpoint_name, "status": models.status}
    return diagnose(id, figure=models.figure, **facts)


def _refuse_cabinet(context: ProbeContext) -> None:
    """Raise `ProbeError` if this is a cabinet, which says where its API is."""
    try:
        answer = context.client.request("/address.json")
    except ProbeError:
        return
    api = answers.inside(answer.json, "base_url")
    if answer.status == HTTPStatus.OK and isinstance(api, str):
        raise ProbeError("http.cabinet", api=shown_url(api))


def _examine_port(context: ProbeContext, error: ProbeError) -> ProbeError:
    """Return a more exact error if the port uses TLS or another protocol."""
    port = context.base_url.port
    if error.id not in ("http.cut", "http.malformed"):
        return error
    if tls.speaks_tls(context):
        return ProbeError("http.tls_port", port=port)
    context.budget.spend()
    start = opening.first_bytes(context.route, context.timeout)
    is_http = not start or start.lstrip().startswith(b"HTTP/")
    return error if is_http else ProbeError("http.not_http", port=port)


def program_name(response: ProbeResponse) -> str:
    """Return the name of the program that sent the response, or ""."""
    headers = [header.lower() for header in response.headers]
    for start, program in _BY_HEADER:
        if any(header.startswith(start) for header in headers):
            return program
    server = response.headers.get("Server", "").strip().lower()
    if server in _BY_SERVER:
        return _BY_SERVER[server]
    content = response.json
    rows = answers.inside(content, "data")
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        owners = {str(row.get("owned_by")).lower() for row in rows}
        return _BY_OWNER.get(owners.pop(), "") if len(owners) == 1 else ""
    # The error form of Google's APIs has a status in capitals.
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    status = answers.inside(content, "error", "status")
    is_word = isinstance(status, str) and status.isupper() and status.isascii()
    is_coded = answers.inside(content, "error", "code") == response.status
    return "a Google API" if is_word and is_coded else ""
