"""The step "HTTP": whether Readback responds at the address, or what else does.

The request is sent without the key, so that no other server ever receives it. Readback
is recognized by the way it refuses an unknown path.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit

from readback.contract import REFUSALS
from readback.probe.client import ProbeResponse
from readback.probe.connection import opening, tls
from readback.probe.context import UNKNOWN, ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.formatting import format_duration, sanitize
from readback.probe.results import Diagnosis, Fact, ProbeError
from readback.probe.service import foreign

_HELP = re.compile(r'<([^>]*)>\s*;[^,]*rel="?help"?')
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
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
    """A refusal in the form that only Readback uses."""

    code: str
    detail: str


def check(context: ProbeContext) -> Diagnosis:
    context.client = context.new_client()
    try:
        response = context.get(UNKNOWN, with_key=False)
    except ProbeError as error:
        raise _examine_port(context, error) from None
    # Web servers, and Readback itself, respond to plain HTTP on a TLS port with 400.
    if response.status == HTTPStatus.BAD_REQUEST and _is_tls_port(context):
        raise ProbeError("http.tls_port", port=context.base_url.port)
    refusal = parse_refusal(response)
    if refusal is None:
        url = f"{context.base_url}{UNKNOWN}"
        raise unexpected_response(response, url, is_recognized=False)
    if refusal.code != "not_found":
        raise refusal_error(response, refusal)
    context.help_link = _help_link(response)
    coding = response.headers.get("Content-Encoding", "identity").lower()
    id = "http.readback" if coding == "identity" else "http.compressed"
    figure = format_duration(response.timing.answer)
    return diagnose(id, figure=figure, coding=sanitize(coding))


def parse_refusal(response: ProbeResponse) -> ParsedRefusal | None:
    """Return the refusal if the response has code, detail and request id, else None."""
    detail = response.headers.get("X-Error-Detail", "")
    code = _error_code(response.body)
    row = REFUSALS.get(code)
    if row is None or response.status != row.status or not detail:
        return None
    if "X-Request-Id" not in response.headers:
        return None
    return ParsedRefusal(code, sanitize(detail))


def refusal_error(response: ProbeResponse, refusal: ParsedRefusal) -> ProbeError:
    """Return the error for a correct request that Readback has refused."""
    row = REFUSALS[refusal.code]
    if refusal.code == "rate_limited":
        wait = sanitize(response.headers.get("Retry-After", "a few"))
        return ProbeError("http.rate_limited", wait=wait)
    facts = {"code": refusal.code, "detail": refusal.detail}
    if row.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = sanitize(response.headers["X-Request-Id"])
        return ProbeError("http.unavailable", request_id=request_id, **facts)
    return ProbeError("http.refused", hint=row.hint, **facts)


def unexpected_response(
    response: ProbeResponse, url: str, *, is_recognized: bool = True
) -> ProbeError:
    """Return the error that says what responded instead of Readback.

    Once Readback has been recognized, the address is right.
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
    if _is_html(response):
        return ProbeError("http.html", **facts)
    is_api = parse_json(response.body) is not None
    return ProbeError("http.other_api" if is_api else "http.other", **facts)


def parse_json(body: bytes) -> Any:
    """Return the parsed JSON, or None if the body is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _examine_port(context: ProbeContext, error: ProbeError) -> ProbeError:
    """Return a more exact error if the port uses TLS or another protocol."""
    port = context.base_url.port
    if error.id == "http.cut" and _is_tls_port(context):
        return ProbeError("http.tls_port", port=port)
    if error.id != "http.cut" or context.base_url.is_encrypted or context.route.proxy:
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
    target = urljoin(url, response.headers.get("Location", ""))
    old, new = urlsplit(url), urlsplit(target)
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
    return _is_html(response) and bool(_LOGIN_PAGE.search(_title(response)))


def _is_proxy(response: ProbeResponse) -> bool:
    headers = response.headers
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    return signed or bool(_PROXY_SERVERS.search(named))


def _is_html(response: ProbeResponse) -> bool:
    declared = "html" in response.headers.get("Content-Type", "").lower()
    return declared or response.body.lstrip()[:1] == b"<"


def _title(response: ProbeResponse) -> str:
    match = _TITLE.search(response.body)
    text = match[1].decode("utf-8", "replace") if match else ""
    return sanitize(f"“{text.strip()}”") if text.strip() else "without a title"


def _error_code(body: bytes) -> str:
    """Return the code of an error body as the contract defines it, or ""."""
    content = parse_json(body)
    error = content.get("error") if isinstance(content, dict) else None
    # A gateway may have added fields.
    if not isinstance(error, dict):
        return ""
    return code if isinstance(code := error.get("code"), str) else ""


def _help_link(response: ProbeResponse) -> str:
    match = _HELP.search(response.headers.get("Link", ""))
    return match[1] if match else ""
