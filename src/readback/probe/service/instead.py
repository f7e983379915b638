"""What responds instead of the service: a portal, a proxy, a page, a redirect.

Something in between may also have spoiled a response of the service. What a gateway
says of itself is shown in its own words. Only what can be told from a single response
is told here, and no text leaves here unless it is safe to show.
"""

from __future__ import annotations

import codecs
import ipaddress
import json
import re
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import SplitResult, urljoin, urlsplit

from readback.contract import REFUSALS
from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import PORTS, is_ip_address, is_local, shown_url
from readback.probe.service import answers, gateways
from readback.probe.transport.context import MODELS
from readback.probe.transport.exchanges import ProbeResponse

_PROXY_SERVERS = re.compile(
    r"squid|zscaler|bluecoat|fortigate|mcafee|websense|forcepoint|sophos|privoxy"
    r"|haproxy|varnish|tinyproxy",
    re.IGNORECASE,
)
_REDIRECTS = {301, 302, 303, 307, 308}
_FINAL = "Use the final address"
_GATEWAY_ERRORS = {502, 503, 504}
_DECODED = {"", "identity", "gzip", "deflate"}
# What the pages say with which bot protections ask for a browser.
_CHALLENGE = re.compile(
    rb"just a moment|captcha|(are|you're) (a )?human|checking your browser"
    rb"|attention required|ddos protection|enable (javascript|cookies)",
    re.IGNORECASE,
)
# What firewalls write, some of them with the status 200.
_REJECTED = re.compile("request (rejected|blocked)|access denied|you.* blocked", re.I)
# The first bytes of gzip and of zlib.
_COMPRESSED = (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda")
_PORTAL = re.compile(
    r"captive|hotspot|wi-?fi|portal|/guest/|[?&]zone="
    r"|network ?(access|login|authentication)",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(sign|log)[-_ ]?(in|on)\b|\bsso\b|saml|oauth2?\b|openid|authorize|/auth/"
    r"|single sign-on|cloudflareaccess\.com|okta\.com|auth0\.com|authentik|keycloak"
    r"|login\.|accounts\.google\.com|anmeld|вход\b|авториз",
    re.IGNORECASE,
)
_JSON_TYPES = {str: "string", list: "list", bool: "boolean"}
_MAINTENANCE = re.compile(
    r"maintenance|be (right )?back (soon|shortly)|wartung|обслуживани"
    r"|технические работы",
    re.IGNORECASE,
)
_PASSWORD_FIELD = re.compile(rb"""type=["']?password""", re.IGNORECASE)
# Where the JSON of gateways and frameworks has its message.
_MESSAGES = (
    *("error.message", "error.reason", "error_description", "message", "Message"),
    *("detail", "errors.0.message", "errors.0", "msg", "error", "title"),
)
_XML_MESSAGE = re.compile(rb"<Message>([^<]*)</Message>")
_HEADING = re.compile(rb"<h1[^<>]*>([^<]*)</h1>", re.IGNORECASE)
_MAX_TEXT_BYTES = 400
_CHALLENGE_STATUSES = {403, 429, 503}
_REFUSALS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "key.other_refusal",
    HTTPStatus.FORBIDDEN: "between.blocked",
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS: "between.blocked",
    HTTPStatus.TOO_MANY_REQUESTS: "between.rate_limited",
}


def unexpected_response(
    response: ProbeResponse, *, is_recognized: bool = True
) -> ProbeError:
    """Return the error for a response that a correct request should not get.

    Once the service has been recognized, the address is right, and it may be a refusal.
    """
    if is_recognized and (refusal := answers.parse_refusal(response)):
        return _refusal(response, refusal)
    if response.status in _REDIRECTS:
        return _redirect(response)
    if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ProbeError("http.proxy_login")
    said, headers = words(response), response.headers
    seconds, moment = response.retry_after, sanitize(headers.get("Retry-After", ""))
    after = f"{seconds} seconds" if seconds else moment
    facts: dict[str, Fact] = {
        "status": response.status,
        "title": said or "without an explanation",
        "after": f" It asks to try again after {after}." if after else "",
    }
    is_page = answers.is_html(response)
    is_network = response.status == HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED
    if is_network or (is_page and _PORTAL.search(said)):
        return ProbeError("http.captive_portal", where=f": {said}" if said else "")
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    if signed or _PROXY_SERVERS.search(named):
        return ProbeError("http.proxy_page", **facts)
    if error := spoiled(response) or error_in_success(response):
        return error
    is_marked = "challenge" in headers.get("Cf-Mitigated", "").lower()
    is_refused = response.status in _CHALLENGE_STATUSES or is_page
    if is_marked or (is_refused and _CHALLENGE.search(response.body)):
        return ProbeError("between.challenge", tried="", **facts)
    quoted = f" It says: {said}." if said else ""
    if error := gateways.find(response, f"{quoted}{facts['after']}"):
        return error
    may_stop = response.status == HTTPStatus.SERVICE_UNAVAILABLE or is_page
    if may_stop and _MAINTENANCE.search(said):
        return ProbeError("http.maintenance", **facts)
    is_doubtful = response.status in (HTTPStatus.FORBIDDEN, *_GATEWAY_ERRORS)
    if response.proxy and is_doubtful:
        names = {"proxy": str(response.proxy), "variable": response.proxy.variable}
        return ProbeError("proxy.responded", **names, **facts)
    if is_page and (_LOGIN.search(said) or _PASSWORD_FIELD.search(response.body)):
        return ProbeError("http.login_wall", where="", location="", **facts)
    if id := _REFUSALS.get(response.status):
        return ProbeError(id, tried="", wait=seconds or "some", **facts)
    if response.status in _GATEWAY_ERRORS:
        return ProbeError("http.gateway", **facts)
    if is_page and _REJECTED.search(said):
        return ProbeError("between.blocked", tried="", **facts)
    if is_recognized:
        return changed(response) or ProbeError("between.other_response", **facts)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ProbeError("http.server_error", **facts)
    if is_page:
        return ProbeError("http.html", **facts)
    is_accepted = HTTPStatus.OK < response.status < HTTPStatus.MULTIPLE_CHOICES
    if response.json is not None and not is_accepted:
        return ProbeError("http.other_api", **facts)
    is_missing = response.status in answers.NO_SUCH_PATH
    return ProbeError("http.no_such_path" if is_missing else "http.other", **facts)


def _refusal(response: ProbeResponse, refusal: answers.ParsedRefusal) -> ProbeError:
    """Return the error for a correct request that Readback has refused."""
    row, detail = REFUSALS[refusal.code], refusal.detail
    if refusal.code == "unsupported_media_type":
        return ProbeError("echo.media_type", detail=detail)
    if refusal.code == "rate_limited":
        return ProbeError("http.rate_limited", wait=response.retry_after or "a few")
    if refusal.code == "not_found":
        added = "URL parameter" in detail and refusal.is_explained
        id = "http.parameter_added" if added else "http.path_changed"
        return ProbeError(id, detail=detail)
    facts = {"code": refusal.code, "detail": detail}
    if row.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = sanitize(response.headers.get("X-Request-Id", "none"))
        return ProbeError("http.unavailable", request_id=request_id, **facts)
    return ProbeError("http.refused", hint=row.hint, **facts)


def _redirect(response: ProbeResponse) -> ProbeError:
    """Return the error for another address, a login, a loop, or a portal."""
    location = response.headers.get("Location", "")
    try:
        target = urljoin(response.url, location)
        old, new = urlsplit(response.url), urlsplit(target)
        is_moved = _place(old) != _place(new)
    except ValueError:
        return ProbeError("http.redirect", location="an invalid address", use=_FINAL)
    shown = shown_url(target)
    status, title = response.status, "a redirect"
    facts: dict[str, Fact] = {"location": shown, "status": status, "title": title}
    is_same_host = old.hostname == new.hostname
    # What is new in the target; the own address may contain any word.
    path = new.path.removeprefix(old.path) if is_same_host else new.path
    beyond = f"{'' if is_same_host else new.hostname}{path}?{new.query}"
    if not location or not is_moved and old.path == new.path:
        if "Set-Cookie" in response.headers:
            return ProbeError("between.cookie_wall", **facts)
        return ProbeError("http.redirect_loop", **facts)
    # A host on the Internet redirects into a private network.
    host = new.hostname or ""
    is_inside = is_ip_address(host) and ipaddress.ip_address(host).is_private
    is_inside = is_inside and not is_local(old.hostname or "")
    if is_moved and (_PORTAL.search(beyond) or is_inside):
        return ProbeError("http.captive_portal", where=f": it redirects to {shown}")
    if _LOGIN.search(beyond):
        return ProbeError("http.login_wall", where=f" at {shown}", **facts)
    base = shown.removesuffix(MODELS)
    if is_same_host and (old.scheme, new.scheme) == ("http", "https"):
        return ProbeError("http.redirect_https", base=base)
    if is_same_host and (old.scheme, new.scheme) == ("https", "http"):
        return ProbeError("http.redirect_plain", **facts)
    if not is_moved and new.path == f"{old.path}/":
        return ProbeError("http.redirect_slash", **facts)
    use = f"Use {base} if it is that of the same service" if base != shown else _FINAL
    return ProbeError("http.redirect", location=shown, use=use)


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


def words(response: ProbeResponse) -> str:
    """Return what an error says of itself, in quotation marks, or ""."""
    content = response.json
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    found = (answers.inside(content, *path.split(".")) for path in _MESSAGES)
    said = next((one for one in found if isinstance(one, str) and one.strip()), "")
    if content is None and answers.is_html(response):
        match = _XML_MESSAGE.search(response.body) or _HEADING.search(response.body)
        heading = match[1].decode("utf-8", "replace") if match else ""
        said = page_title(response.body) or heading
    elif content is None and len(response.body) <= _MAX_TEXT_BYTES:
        said = response.body.decode("utf-8", "replace")
    return f"“{answers.ApiError(said).shown}”" if said.strip() else ""


def error_in_success(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a status 200 whose body is an error, if it is one."""
    error = answers.error_in(response.json)
    if response.status != HTTPStatus.OK or error is None:
        return None
    status = response.status
    return ProbeError("http.error_in_success", status=status, detail=error.shown)


def changed(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a response of Readback whose body is not the one it sent.

    Its own headers prove that it is from a Readback.
    """
    content = response.json
    is_own = "X-Request-Id" in response.headers or "X-Error-Detail" in response.headers
    if not is_own or isinstance(content, dict):
        return None
    if error := cut(response) or spoiled(response):
        return error
    text = response.body.decode("utf-8", "replace")
    if response.body.startswith(_COMPRESSED):
        how = "it is compressed, and not marked as such, or compressed twice"
    elif content is not None:
        kind = _JSON_TYPES.get(type(content), "number")
        how = f"it is a JSON {kind}, not an object"
    elif not response.body:
        how = "it is empty"
    elif 0 < text.find("{") < len(text) - 2 and "}" in text:
        how = f"there is something before or around the JSON: {sanitize(text[:80])}"
    else:
        how = f"it is not JSON; it begins with {sanitize(text[:40])}"
    return ProbeError("between.body_changed", how=how)


def cut(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a JSON object that ends early, although HTTP has its end."""
    # A character whose bytes are cut in two is dropped: it is a part of the cut.
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(response.body)
        json.loads(text.lstrip() or "{}")
    except json.JSONDecodeError as error:
        # The end of the text, or a string or word that begins but does not end there.
        is_open = error.msg.startswith("Unterminated") or error.pos >= len(text) - 5
        if not (is_open and error.doc.startswith("{")):
            return None
    except (ValueError, RecursionError):  # Not UTF-8, or a number without an end.
        return None
    else:
        return None
    length = response.headers.get("Content-Length", "")
    whole = response.body + response.excess
    with suppress(ValueError):
        if response.excess and len(whole.decode()) == int(length):
            facts = {"length": int(length), "bytes": len(whole)}
            return ProbeError("between.length_in_characters", **facts)
    return ProbeError("between.cut", bytes=len(response.body))


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for a response that was made unreadable, if it was."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        return ProbeError("between.coding", coding=sanitize(coding))
    text = response.body.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith("{"):
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    rest = len(text[end:].strip().encode())
    return ProbeError("between.trailing", bytes=rest) if rest else None
