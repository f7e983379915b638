"""What responds instead of the service: a portal, a proxy, a page, a redirect.

Something in between may also have spoiled a response of the service. What a gateway
says of itself is shown in its own words. Only what can be told from a single response
is told here, and no text leaves here unless it is safe to show.
"""

from __future__ import annotations

import ipaddress
import json
import re
from http import HTTPStatus
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from readback.probe.common.catalogue import has_tag, say
from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import PORTS, is_ip_address, is_local, shown_url
from readback.probe.service import answers
from readback.probe.transport.context import MODELS
from readback.probe.transport.exchanges import ProbeResponse, end_of_json

_PROXY_SERVERS = re.compile(
    r"squid|zscaler|bluecoat|fortigate|fortiguard|mcafee|websense|forcepoint|sophos"
    r"|netskope|privoxy|tinyproxy|pi-hole|kaspersky|adguard|nextdns|barracuda|sonicwall"
    r"|cisco umbrella|watchguard|ironport|smoothwall|\biboss\b|securly",
    re.IGNORECASE,
)
_REDIRECTS = {301, 302, 303, 307, 308}
_GATEWAY_ERRORS = {502, 503, 504}
_DECODED = {"", "identity", "gzip", "deflate"}
# What the pages say with which bot protections ask for a browser.
_CHALLENGE = re.compile(
    r"just a moment|captcha|(are|you're) (a )?human|checking your browser|awswaf"
    r"|ddos protection|enable (javascript and )?cookies|_incapsula_"
    r"|incapsula incident|challenge-platform|datadome|perimeterx",
    re.IGNORECASE,
)
_CHALLENGE_HEADERS = ("Cf-Mitigated", "X-Amzn-Waf-Action")
_CHALLENGE_STATUSES = {202, 403, 405, 429, 503}
# What firewalls and filters write in their titles, some with the status 200.
_REJECTED = re.compile(
    "request (rejected|blocked|denied)|access (is |was |has been )?(denied|blocked)"
    "|(page|site|you).* blocked|blocked by"
    "|доступ.* (ограничен|запрещ|закрыт|заблокирован)|gesperrt|verweigert|blockiert"
    "|bloqu[eé]|denegad|bloccat|\\bnegat[oa]\\b|acc[eè]s (refus|interdit)|zablokowan"
    "|geblokkeerd|engellen|被.{0,4}(阻止|禁止|拦截|屏蔽|拒绝)|禁止访问|ブロック|차단",
    re.IGNORECASE,
)
# What the filters of companies and providers write, and where they redirect to.
_FILTER = re.compile(
    r"(company|corporate|usage|internet|security) polic(y|ies)|your organi[sz]ation"
    r"|(web|url|content|internet)[ -]filter|categor(y|ies):"
    r"|(site|page|url)[^<>.]{0,40} (is|was|been) blocked",
    re.IGNORECASE,
)
_BLOCK = re.compile("block|denied|restrict|not allowed", re.IGNORECASE)
_FILTER_ADDRESS = re.compile(
    "block|denied|forbid|filter|restrict|warning|usercheck|sinkhole|internet-?positi[fv]",
    re.IGNORECASE,
)
_PORTAL = re.compile(
    r"captive|hotspot|wi-?fi|wlan|portal|portail|/guest/|voucher"
    r"|[?&](zone|(client_?|ap_?|user_?)?mac|ssid|nasid|redirurl)="
    r"|\bguest (access|network|internet)|/splash|network-auth"
    r"|network ?(access|login|authentication)",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(sign|log)[-_ ]?(in|on)\b|\bsso\b|saml|oauth2?\b|openid|auth[/?]|adfs"
    r"|single sign-on|cloudflareaccess\.com|okta\.com|auth0\.com|authentik|keycloak"
    r"|\bauthorize|login\.|accounts\.google\.com|anmeld|вход\b|авториз",
    re.IGNORECASE,
)
_MAINTENANCE = re.compile(
    r"maintenance|be (right )?back (soon|shortly)|wartung|обслуживани"
    r"|технические работы|web app - unavailable|site disabled|account suspended",
    re.IGNORECASE,
)
_REFRESH = re.compile(
    r"""<meta[^<>]{0,80}refresh[^<>]{0,80}url=["']?([^"'<>\s]{1,1000})""", re.IGNORECASE
)
_PASSWORD_FIELD = re.compile(r"""type=["']?password""", re.IGNORECASE)
# The names of gateways, by a header or a text of their own, and what an error that they
# make themselves means. The mark is searched in the headers, one in each line.
_GATEWAYS = {
    "Cloudflare": "^server: cloudflare|^cf-ray:",
    "Heroku": "^via: [^\n]{0,80}vegur|^server: heroku",
    "ngrok": "^ngrok-error-code:",
    "Vercel": "^x-vercel-(error|id):",
    "Amazon S3": "^server: AmazonS3",
    "Amazon": "^server: (awselb|CloudFront)|^x-amz(n|-cf|-apigw)-",
    "Kong": "^server: kong|^via: [^\n]{0,80}kong",
    "Envoy": "^server: (istio-)?envoy",
    "Akamai": "^server: AkamaiGHost",
}
_SEARCHED_HEADERS = 16_384
_NO_ROUTE = re.compile(
    "no route matched|missing authentication ?token|no ?such ?(app|bucket)|deployment_"
    "|default backend|err_ngrok_6024|system:anonymous|error(?: code:?)? 1003"
    "|direct ip access",
    re.IGNORECASE,
)
# What Django, Starlette, webpack and Vite say to a name that is not in their settings,
# and Google's clouds to somebody without a login of their own.
_NOT_ALLOWED = re.compile(
    "disallowedhost|invalid host|host[^<>]{0,80} is not allowed"
    "|client does not have permission to get url",
    re.IGNORECASE,
)
# Cloudflare and ngrok number their errors: these mean that the service is out of reach.
_DOWN = re.compile(r"error(?: code:?)? (1016|1033|1101|1102)\b|err_ngrok_3200", re.I)
_MEANINGS = {504: "behind_is_late", 524: "behind_is_late"} | dict.fromkeys(
    (525, 526), "tls_failed"
)
# Where the JSON of gateways and frameworks has its message.
_MESSAGES = (
    *("error.message", "error.reason", "error_description", "message", "Message"),
    *("detail", "detail.0.msg", "errors.0.message", "errors.0", "error.0.message"),
    *("msg", "error_msg", "error", "title"),
)
_XML_MESSAGE = re.compile("<Message>([^<]*)</Message>")
_HEADING = re.compile("<h1[^<>]*>([^<]*)</h1>", re.IGNORECASE)
_MAX_TEXT_BYTES = 400
# An object in a call (JSONP) or in a string.
_WRAPPED = re.compile(r"""(["\\]{1,8}|[\w.$/*]{1,40}\()\s*\{\s*\\{0,8}["'\w]""")
_SHOWN_START = 40


def unexpected_response(
    response: ProbeResponse, *, is_recognized: bool = True
) -> ProbeError:
    """Return the error for a response that a correct request should not get.

    Once the service has been recognized, the address is right, and it may be a refusal.
    """
    if is_recognized and (refusal := answers.parse_refusal(response)):
        return _refusal(response, refusal)
    if response.status in _REDIRECTS:
        return _redirect(response, response.headers.get("Location", ""))
    said, headers = words(response), response.headers
    if code := sanitize(headers.get("Ngrok-Error-Code", "")):
        said = f"{said} {code}"
    seconds, moment = response.retry_after, sanitize(headers.get("Retry-After", ""))
    after = say("seconds", number=seconds) if seconds else moment
    name = gateway(response)
    facts: dict[str, Fact] = {
        "status": response.status,
        "title": said or say("no_explanation"),
        "name": name or say("a_gateway"),
        "after": say("retry_after", after=after) if after else "",
    }
    is_page = answers.is_html(response)
    is_network = response.status == HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED
    if is_network or (is_page and _PORTAL.search(said)):
        return ProbeError("http.captive_portal", where=f": {said}" if said else "")
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    is_proxy = _PROXY_SERVERS.search(named) or (is_page and _PROXY_SERVERS.search(said))
    if signed or is_proxy or response.status == 407:
        return ProbeError("http.proxy_page", **facts)
    if error := spoiled(response) or error_in_success(response):
        return error
    text = response.text
    marks = " ".join(headers.get(one, "") for one in _CHALLENGE_HEADERS).lower()
    is_refused = response.status in _CHALLENGE_STATUSES or is_page
    if "challenge" in marks or (is_refused and _CHALLENGE.search(text)):
        return ProbeError("between.challenge", tried="", **facts)
    refresh = _REFRESH.search(text) if is_page else None
    wall = _redirect(response, refresh[1]) if refresh else None
    if wall and has_tag(wall.id, "wall"):
        return wall
    is_unnamed = is_page and not name and not response.proxy
    if is_unnamed and _FILTER.search(text) and _BLOCK.search(text):
        return ProbeError("http.proxy_page", **facts)
    if error := _of_gateway(response, text, facts):
        return error
    # Storage and other APIs in XML; a page may be XHTML.
    declared = headers.get("Content-Type", "").lower()
    is_xml = "xml" in declared and "html" not in declared and response.status < 500
    if is_xml and not is_recognized:
        return ProbeError("http.other_api", **facts)
    is_doubtful = response.status in (400, 403, *_GATEWAY_ERRORS)
    if response.proxy and is_doubtful:
        names = {"proxy": str(response.proxy), "variable": response.proxy.variable}
        return ProbeError("proxy.responded", **names, **facts)
    if is_page and (_LOGIN.search(said) or _PASSWORD_FIELD.search(text)):
        return _login_wall(response, is_own=False, where="", **facts)
    if response.status == HTTPStatus.UNAUTHORIZED:
        return ProbeError("http.sign_in", where="", **facts)
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = seconds or say("a_few")
        return ProbeError("between.rate_limited", tried="", wait=wait, **facts)
    # A filter has a page for people, or says that it blocks.
    is_forbidden = response.status == HTTPStatus.FORBIDDEN
    is_filter = is_page or "block" in said.lower() or bool(_FILTER.search(said))
    if is_forbidden and not is_filter:
        return ProbeError("between.forbidden", tried="", **facts)
    is_legal = response.status == HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS
    if is_forbidden or is_legal or (is_page and _REJECTED.search(said)):
        return ProbeError("between.blocked", tried="", **facts)
    if is_recognized:
        return changed(response) or ProbeError("between.other_response", **facts)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR and (
        response.status != HTTPStatus.NOT_IMPLEMENTED
    ):
        meaning = say(_MEANINGS.get(response.status, "own_error"))
        return ProbeError("http.gateway", meaning=meaning, **facts)
    is_missing = response.status in (*answers.NO_SUCH_PATH, HTTPStatus.GONE)
    if is_page and not is_missing and response.status != HTTPStatus.BAD_REQUEST:
        return ProbeError("http.html", **facts)
    is_accepted = HTTPStatus.OK < response.status < HTTPStatus.MULTIPLE_CHOICES
    if response.json is not None and not is_accepted:
        return ProbeError("http.other_api", **facts)
    return ProbeError("http.no_such_path" if is_missing else "http.other", **facts)


def gateway(response: ProbeResponse) -> str:
    """Return the name of a gateway that says its own, or ""."""
    lines = (f"{name}: {value}" for name, value in response.headers.items())
    headers = "\n".join(lines)[:_SEARCHED_HEADERS]
    for name, mark in _GATEWAYS.items():
        if re.search(mark, headers, re.IGNORECASE | re.MULTILINE):
            return name
    return ""


def _of_gateway(
    response: ProbeResponse, text: str, facts: dict[str, Fact]
) -> ProbeError | None:
    """Return the error if a gateway cannot reach the service, or has no such route."""
    name, status = gateway(response), response.status
    is_error = status >= HTTPStatus.BAD_REQUEST or status == HTTPStatus.OK
    if is_error and _NO_ROUTE.search(text) and not answers.is_from_api(response):
        return ProbeError("http.no_such_path", **facts)
    if is_error and _NOT_ALLOWED.search(text):
        return ProbeError("between.forbidden", tried="", **facts)
    said = str(facts["title"])
    is_maintenance = status == HTTPStatus.SERVICE_UNAVAILABLE or answers.is_html(
        response
    )
    if is_maintenance and _MAINTENANCE.search(said):
        meaning = say("for_maintenance")
        return ProbeError("http.gateway", meaning=meaning, **facts)
    is_named = name and (status >= 500 or _DOWN.search(f"{text} {said}"))
    if response.proxy or not (is_named or status in _GATEWAY_ERRORS):
        return None
    meaning = say(_MEANINGS.get(status, "cannot_reach_or_overloaded"))
    return ProbeError("http.gateway", meaning=meaning, **facts)


def _refusal(response: ProbeResponse, refusal: answers.ParsedRefusal) -> ProbeError:
    """Return the error for a correct request that Readback has refused."""
    facts: dict[str, Fact] = {"status": response.status, "detail": refusal.detail}
    if refusal.code == "rate_limited":
        wait = response.retry_after or say("a_few")
        return ProbeError("http.rate_limited", wait=wait, **facts)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = sanitize(response.headers.get("X-Request-Id", "?"))
        return ProbeError("http.unavailable", request_id=request_id, **facts)
    return ProbeError("http.refused", code=refusal.code, **facts)


def _login_wall(response: ProbeResponse, *, is_own: bool, **facts: Fact) -> ProbeError:
    """Return the error for a login page: the network's own, or one at the service."""
    # Nothing between this machine and a certificate that is trusted can answer.
    is_own = is_own or response.url.startswith("https:")
    return ProbeError("http.sign_in" if is_own else "http.login_wall", **facts)


def _redirect(response: ProbeResponse, location: str) -> ProbeError:
    """Return the error for another address, a login, a loop, a portal or a filter."""
    final = say("use_final")
    try:
        target = urljoin(response.url, location)
        old, new = urlsplit(response.url), urlsplit(target)
        is_moved = _place(old) != _place(new)
    except ValueError:
        invalid = say("an_invalid_address")
        return ProbeError("http.redirect", location=invalid, use=final)
    shown = shown_url(target)
    status, title = response.status, say("a_redirect")
    facts: dict[str, Fact] = {"location": shown, "status": status, "title": title}
    is_same_host = old.hostname == new.hostname
    # What is new in the target; the own address may contain any word.
    path = new.path.removeprefix(old.path) if is_same_host else new.path
    beyond = f"{'' if is_same_host else new.hostname}{path}?{new.query}"
    if not location or not is_moved and old.path == new.path:
        if "Set-Cookie" in response.headers:
            cookies = say("sets_cookie")
            facts = {"status": status, "title": cookies, "tried": ""}
            return ProbeError("between.challenge", **facts)
        kind = say("comes_from")
        return ProbeError("http.redirect_loop", kind=kind, **facts)
    host = new.hostname or ""
    if not is_same_host and _FILTER_ADDRESS.search(f"{host}{new.path}"):
        return ProbeError("http.proxy_page", **{**facts, "title": f"{title} ({shown})"})
    # A host on the Internet redirects into a private network.
    is_inside = is_ip_address(host) and ipaddress.ip_address(host).is_private
    is_inside = is_inside and not is_local(old.hostname or "")
    if is_moved and (_PORTAL.search(beyond) or is_inside):
        where = say("redirects_to", location=shown)
        return ProbeError("http.captive_portal", where=where)
    # Whoever wants to send the visitor back later passes on where that is.
    passed_on = unquote(f"{new.path}?{new.query}")
    is_way_back = not is_same_host and (
        "://" in passed_on or MODELS in unquote(new.query)
    )
    if _LOGIN.search(beyond) or is_way_back:
        where = f" ({shown})"
        return _login_wall(response, is_own=is_same_host, where=where, **facts)
    base = shown.removesuffix(MODELS)
    if is_same_host and (old.scheme, new.scheme) == ("https", "http"):
        return ProbeError("http.redirect_loop", kind=say("unencrypted"), **facts)
    if not is_moved and new.path == f"{old.path}/":
        kind = say("slash_at_end")
        return ProbeError("http.redirect_loop", kind=kind, **facts)
    use = final
    if is_same_host and (old.scheme, new.scheme) == ("http", "https"):
        use = say("use_https", base=base)
    elif base != shown:
        use = say("use_base", base=base)
    return ProbeError("http.redirect", location=shown, use=use)


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


def blocks(response: ProbeResponse) -> bool:
    """Return whether something says that it blocks the request."""
    return _BLOCK.search(words(response)) is not None


def words(response: ProbeResponse) -> str:
    """Return what an error says of itself, in quotation marks, or ""."""
    content = response.json
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    found = (answers.inside(content, *path.split(".")) for path in _MESSAGES)
    texts = (one for one in (content, *found) if isinstance(one, str))
    said = next(filter(str.strip, texts), "")
    if content is None and answers.is_html(response):
        text = response.text
        match = _XML_MESSAGE.search(text) or _HEADING.search(text)
        said = page_title(text) or (match[1] if match else "")
    elif content is None and len(response.body) <= _MAX_TEXT_BYTES:
        said = response.text
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
    is_own = "X-Request-Id" in response.headers or "X-Error-Detail" in response.headers
    if not is_own or isinstance(response.json, dict):
        return None
    start = sanitize(response.body[:_SHOWN_START].decode("utf-8", "replace"))
    how = say("is_damaged", start=start) if start else say("is_empty")
    return spoiled(response) or ProbeError("http.spoiled", how=how)


def spoiled(response: ProbeResponse) -> ProbeError | None:
    """Return the error for JSON that is unreadable: cut, compressed, or wrapped."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _DECODED:
        how = say("is_compressed", coding=sanitize(coding))
        return ProbeError("http.spoiled", how=how)
    text = response.body.decode("utf-8-sig", "replace").strip()
    start = sanitize(text[:_SHOWN_START])
    other = ProbeError("http.not_json", status=response.status, start=start)
    if not text.startswith("{"):
        declared = response.headers.get("Content-Type", "")
        if "json" in declared and "\ufffd" in text and response.json is None:
            return ProbeError("http.spoiled", how=say("is_binary"))
        return other if _WRAPPED.match(text) else None
    try:
        end = end_of_json(text)
    except json.JSONDecodeError as error:
        # The end of the text, or a string or word that begins but does not end there.
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(text) - 5
        how = say("ends_in_json", count=len(response.body))
        return ProbeError("http.spoiled", how=how) if is_cut else other
    except (ValueError, RecursionError):  # A number without an end, for example.
        return None
    rest = len(text[end:].encode())
    how = say("extra_bytes", count=rest)
    return ProbeError("http.spoiled", how=how) if rest else None
