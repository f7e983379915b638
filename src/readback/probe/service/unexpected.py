"""Says what responded instead of the service: a portal, a proxy, a page or an API.

Something between the probe and the service may also have spoiled its response. Only
what can be told from a single response is told here.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.service.answers import is_html, parse_json
from readback.probe.transport.client import ProbeResponse

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
_DECODED = {"", "identity", "gzip", "deflate"}
# What the pages say with which bot protections ask for a browser.
_CHALLENGE = re.compile(
    rb"just a moment|captcha|(are|you're) (a )?human|checking your browser"
    rb"|attention required|ddos protection",
    re.IGNORECASE,
)
_SECONDS = re.compile("[0-9]{1,9}")
_CHALLENGE_STATUSES = {403, 429, 503}
_REFUSALS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "key.other_refusal",
    HTTPStatus.FORBIDDEN: "between.blocked",
    HTTPStatus.TOO_MANY_REQUESTS: "between.rate_limited",
}


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
    title = page_title(response.body)
    is_login = is_html(response) and bool(_LOGIN_PAGE.search(title))
    if is_login or response.status == HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED:
        return ProbeError("http.captive_portal")
    facts: dict[str, Fact] = {
        "status": response.status,
        "title": f"“{title}”" if title else "without a title",
    }
    headers = response.headers
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    if signed or _PROXY_SERVERS.search(named):
        return ProbeError("http.proxy_page", **facts)
    if error := spoiled(response):
        return error
    is_marked = "challenge" in headers.get("Cf-Mitigated", "").lower()
    is_refused = response.status in _CHALLENGE_STATUSES
    if is_marked or (is_refused and _CHALLENGE.search(response.body)):
        return ProbeError("between.challenge", tried="", **facts)
    if id := _REFUSALS.get(response.status):
        after = headers.get("Retry-After", "")
        wait = after if _SECONDS.fullmatch(after) else "some"
        return ProbeError(id, tried="", wait=wait, **facts)
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


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a response that was made unreadable, if it was."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        return ProbeError("between.coding", coding=sanitize(coding))
    if rest := _trailing_bytes(response.body):
        return ProbeError("between.trailing", bytes=rest)
    return None


def _trailing_bytes(body: bytes) -> int:
    """Return how many bytes follow a JSON object; 0 if the body starts with none."""
    text = body.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith("{"):
        return 0
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    return len(text[end:].strip().encode())
