"""The step "HTTP": which service responds at the address, or what else does.

Its requests are sent without the key, so that no stranger ever receives it. Readback is
recognized by the two refusals that the contract promises; any other OpenAI-compatible
API by its list of models, or by the way it refuses to show it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from readback.contract import REFUSALS
from readback.probe.client import ProbeResponse
from readback.probe.connection import opening, tls
from readback.probe.context import MODELS, UNKNOWN, ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.entered.version import version_mistake, with_version
from readback.probe.formatting import format_duration, sanitize
from readback.probe.results import Diagnosis, Fact, ProbeError, Service
from readback.probe.service import fields, foreign, kinds
from readback.probe.service.api_answers import (
    has_models,
    is_from_api,
    is_html,
    parse_json,
)

# The headers that explain a refusal of Readback; Link only if there is a cabinet.
_EXPLAINING = ("X-Request-Id", "X-Error-Detail")
# These patterns need linear time, whatever a peer sends.
_HELP = re.compile(r'<([^<>]*)>\s*;[^,<]*rel="?help"?')
_TITLE = re.compile(rb"<title[^<>]*>([^<]*)</title>", re.IGNORECASE)
_LOGIN_PAGE = re.compile(
    r"captive|hotspot|wi-?fi|portal|network ?(access|login|authentication)",
    re.IGNORECASE,
)
_PROXY_SERVERS = re.compile(
    r"squid|zscaler|bluecoat|fortigate|mcafee|websense|forcepoint|sophos|privoxy"
    r"|haproxy|varnish|tinyproxy",
    re.IGNORECASE,
)
_REDIRECTS = {301, 302, 303, 307, 308}
_GATEWAY_ERRORS = {502, 503, 504}


@dataclass(frozen=True)
class ParsedRefusal:
    """A refusal in the form that the contract defines."""

    code: str
    detail: str
    is_explained: bool
    """Whether the detail is that of Readback, which differs for each cause."""


def check(context: ProbeContext) -> list[Diagnosis]:
    context.client = context.new_client()
    unknown = _ask_unknown_path(context)
    models = context.get(MODELS, with_key=False)
    models, mistakes = _with_right_version(context, models)
    context.models_without_key = models
    for response in (unknown, models):
        if error := foreign.spoiled(response):
            raise error
    if _is_readback(unknown, models):
        return mistakes + _readback(context, unknown, models)
    return [*mistakes, _endpoint(context, models)]


def _ask_unknown_path(context: ProbeContext) -> ProbeResponse:
    try:
        response = context.get(UNKNOWN, with_key=False)
    except ProbeError as error:
        raise _examine_port(context, error) from None
    # Web servers, and Readback itself, respond to plain HTTP on a TLS port with 400.
    if response.status == HTTPStatus.BAD_REQUEST and _is_tls_port(context):
        raise ProbeError("http.tls_port", port=context.base_url.port)
    return response


def _with_right_version(
    context: ProbeContext, models: ProbeResponse
) -> tuple[ProbeResponse, list[Diagnosis]]:
    """Correct the version of the address if only the corrected one has models."""
    entered = context.base_url
    mistake = version_mistake(entered)
    if mistake is None or has_models(models):
        return models, []
    corrected = with_version(entered)
    other = context.client.request("GET", f"{corrected.path}{MODELS}")
    if not has_models(other):
        return models, []
    context.base_url = corrected
    context.route = replace(context.route, target=corrected)
    return other, [diagnose(mistake, base_url=str(corrected))]


def _is_readback(unknown: ProbeResponse, models: ProbeResponse) -> bool:
    """Return whether the refusals follow the contract, as far as they are its own."""
    if parse_refusal(unknown) is None:
        return False
    return parse_refusal(models) is not None or not is_from_api(models)


def _readback(
    context: ProbeContext, unknown: ProbeResponse, models: ProbeResponse
) -> list[Diagnosis]:
    for response, code in ((unknown, "not_found"), (models, "invalid_key")):
        refusal = parse_refusal(response)
        if refusal is None:
            raise unexpected_response(response, f"{context.base_url}{MODELS}")
        if refusal.code != code:
            raise refusal_error(response, refusal)
    context.service = Service.READBACK
    context.help_link = _help_link(unknown)
    coding = unknown.headers.get("Content-Encoding", "identity").lower()
    id = "http.readback" if coding == "identity" else "http.compressed"
    figure = format_duration(unknown.timing.answer)
    found = [diagnose(id, figure=figure, coding=sanitize(coding))]
    missing = [
        name
        for name in _EXPLAINING
        if name not in unknown.headers or name not in models.headers
    ]
    if missing:
        found.append(diagnose("http.headers_stripped", missing=", ".join(missing)))
    return found


def _endpoint(context: ProbeContext, models: ProbeResponse) -> Diagnosis:
    if kinds.is_anthropic(models):
        raise ProbeError("http.anthropic", status=models.status)
    if not is_from_api(models):
        url = f"{context.base_url}{MODELS}"
        raise unexpected_response(models, url, is_recognized=False)
    context.service = Service.ENDPOINT
    context.endpoint_name = kinds.name(models)
    if not context.endpoint_name and models.status == HTTPStatus.OK:
        context.endpoint_name = kinds.name_at_root(context.client)
    id = "http.endpoint_named" if context.endpoint_name else "http.endpoint"
    figure = format_duration(models.timing.answer)
    return diagnose(id, figure=figure, name=context.endpoint_name, status=models.status)


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


def unexpected_response(
    response: ProbeResponse, url: str, *, is_recognized: bool = True
) -> ProbeError:
    """Return the error that says what responded instead of the service.

    Once the service has been recognized, the address is right.
    """
    if response.status in _REDIRECTS:
        return _redirect(response, url)
    if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ProbeError("http.proxy_login")
    if _is_captive_portal(response):
        return ProbeError("http.captive_portal")
    facts: dict[str, Fact] = {"status": response.status, "title": _title(response)}
    if _is_proxy(response):
        return ProbeError("http.proxy_page", **facts)
    if error := foreign.explain(response, facts):
        return error
    if response.status in _GATEWAY_ERRORS:
        return ProbeError("http.gateway", **facts)
    if is_recognized:
        return ProbeError("between.other_response", **facts)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ProbeError("http.server_error", **facts)
    if is_html(response):
        return ProbeError("http.html", **facts)
    is_api = parse_json(response.body) is not None
    return ProbeError("http.other_api" if is_api else "http.other", **facts)


def _examine_port(context: ProbeContext, error: ProbeError) -> ProbeError:
    """Return a more exact error if the port uses TLS or another protocol."""
    port = context.base_url.port
    if error.id not in ("http.cut", "http.malformed"):
        return error
    if _is_tls_port(context):
        return ProbeError("http.tls_port", port=port)
    if context.base_url.is_encrypted or context.route.proxy:
        return error
    context.budget.spend()
    start = opening.first_bytes(context.route, context.timeout)
    is_http = not start or start.startswith(b"HTTP/")
    return error if is_http else ProbeError("http.not_http", port=port)


def _is_tls_port(context: ProbeContext) -> bool:
    """Return whether https:// would work at an http:// address."""
    if context.base_url.is_encrypted or context.route.proxy:
        return False
    return tls.speaks_tls(context)


def _redirect(response: ProbeResponse, url: str) -> ProbeError:
    try:
        target = urljoin(url, response.headers.get("Location", ""))
        old, new = urlsplit(url), urlsplit(target)
    except ValueError:
        return ProbeError("http.redirect", location="an invalid address")
    if _LOGIN_PAGE.search(target):
        return ProbeError("http.captive_portal")
    if old.hostname == new.hostname and (old.scheme, new.scheme) == ("http", "https"):
        return ProbeError("http.redirect_https")
    # Without user name, password and parameters, which may be secret.
    shown = f"{new.scheme}://{new.hostname or '?'}{new.path}"
    return ProbeError("http.redirect", location=sanitize(shown))


def _is_captive_portal(response: ProbeResponse) -> bool:
    if response.status == HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED:
        return True
    return is_html(response) and bool(_LOGIN_PAGE.search(_title(response)))


def _is_proxy(response: ProbeResponse) -> bool:
    headers = response.headers
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    return signed or bool(_PROXY_SERVERS.search(named))


def _title(response: ProbeResponse) -> str:
    match = _TITLE.search(response.body)
    text = match[1].decode("utf-8", "replace") if match else ""
    return sanitize(f"“{text.strip()}”") if text.strip() else "without a title"


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


def _help_link(response: ProbeResponse) -> str:
    match = _HELP.search(response.headers.get("Link", ""))
    return match[1] if match else ""
