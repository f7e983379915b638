"""What responds instead of the service: a portal, a proxy, a page, a gateway.

The report shows the name that a gateway gives itself. Each function judges a single
response, and every message in a returned error is safe to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus

from readback.probe.common.catalogue import has_tag, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.service import answers, redirects
from readback.probe.transport.exchanges import ProbeResponse

_PROXY_SERVERS = re.compile(
    r"squid|zscaler|bluecoat|fortigate|fortiguard|mcafee|websense|forcepoint|sophos"
    r"|netskope|privoxy|tinyproxy|pi-hole|kaspersky|adguard|nextdns|barracuda|sonicwall"
    r"|cisco umbrella|watchguard|ironport|smoothwall|\biboss\b|securly",
    re.IGNORECASE,
)
# How squid, mitmproxy, goproxy and tinyproxy refuse a request meant for a web server.
_NOT_FOR_PROXY = re.compile(
    "err_invalid_url|expected: authority or absolute|non-proxy request"
    "|absolute[- ]ur[il]",
    re.IGNORECASE,
)
_REDIRECTS = {301, 302, 303, 307, 308}
# Cloudflare uses 520 to 530.
_GATEWAY_ERRORS = {502, 503, 504, *range(520, 531)}
# Statuses that refuse the form of a request, although the form is correct. They do not
# mean that the address is wrong. A gateway may check the form before the key.
OF_FORM = {411, 412, 415, 417, 421, 422, 426, 428, 431}
# Phrases on bot protection pages, which require a browser.
_CHALLENGE = re.compile(
    r"just a moment|captcha|(are|you're) (a )?human|checking your browser|awswaf"
    r"|ddos protection|enable (javascript and )?cookies|_incapsula_"
    r"|incapsula incident|challenge-platform|datadome|perimeterx",
    re.IGNORECASE,
)
_CHALLENGE_HEADERS = ("Cf-Mitigated", "X-Amzn-Waf-Action")
_CHALLENGE_STATUSES = {202, 403, 405, 429, 503}
# Phrases in page titles of firewalls and filters, some of which use status 200.
_REJECTED = re.compile(
    "request (rejected|blocked|denied)|access (is |was |has been )?(denied|blocked)"
    "|(page|site|you).* blocked|blocked by"
    "|доступ.* (ограничен|запрещ|закрыт|заблокирован)|gesperrt|verweigert|blockiert"
    "|bloqu[eé]|denegad|bloccat|\\bnegat[oa]\\b|acc[eè]s (refus|interdit)|zablokowan"
    "|geblokkeerd|engellen|被.{0,4}(阻止|禁止|拦截|屏蔽|拒绝)|禁止访问|ブロック|차단",
    re.IGNORECASE,
)
# Phrases on block pages of companies and Internet providers.
_FILTER = re.compile(
    r"(company|corporate|usage|internet|security) polic(y|ies)|your organi[sz]ation"
    r"|(web|url|content|internet)[ -]filter|categor(y|ies):"
    r"|(site|page|url)[^<>.]{0,40} (is|was|been) blocked",
    re.IGNORECASE,
)
_BLOCK = re.compile("block|denied|restrict|not allowed", re.IGNORECASE)
# Cloudflare's errors for an address, a browser or a country that it refuses.
_BANNED = re.compile(r"error(?: code:?)? 10(06|07|08|09|10|12|20)\b", re.IGNORECASE)
_MAINTENANCE = re.compile(
    r"maintenance|be (right )?back (soon|shortly)|wartung|обслуживани"
    r"|технические работы|web app - unavailable|site disabled|account suspended",
    re.IGNORECASE,
)
_REFRESH = re.compile(
    r"""<meta[^<>]{0,80}refresh[^<>]{0,80}url=["']?([^"'<>\s]{1,1000})""", re.IGNORECASE
)
_PASSWORD_FIELD = re.compile(r"""type=["']?password""", re.IGNORECASE)
_NO_ROUTE = re.compile(
    "no route matched|missing authentication ?token|no ?such ?(app|bucket)|deployment_"
    "|default backend|err_ngrok_6024|system:anonymous|error(?: code:?)? 1003"
    "|direct ip access",
    re.IGNORECASE,
)
# How Django, Starlette, webpack and Vite refuse a host name that is not in their
# settings, and how Google Cloud refuses a client that has not logged in.
_NOT_ALLOWED = re.compile(
    "disallowedhost|invalid host|host[^<>]{0,80} is not allowed"
    "|client does not have permission to get url",
    re.IGNORECASE,
)
# The error numbers of Cloudflare and ngrok for a service that cannot be reached.
_DOWN = re.compile(r"error(?: code:?)? (1016|1033|1101|1102)\b|err_ngrok_3200", re.I)
_NO_TUNNEL = re.compile(r"tunnel error|error(?: code:?)? 1033\b|err_ngrok_3200", re.I)


_Seen = tuple[object, str]
"""Whether a sign was seen, and the id of its finding; or a complete error, and ""."""


class _Response:
    def __init__(self, received: ProbeResponse, is_recognized: bool) -> None:
        self.received = received
        self.is_recognized = is_recognized
        self.status = received.status
        self.said = answers.words(received)
        # The name that the server or gateway gives itself.
        self.name = sanitize(self.header("Server"))
        self.is_page = answers.is_html(received)
        self.text = received.text

    def header(self, name: str) -> str:
        return self.received.headers.get(name, "")

    def has(self, *statuses: int) -> bool:
        return self.status in statuses


def unexpected_response(
    response: ProbeResponse, *, is_recognized: bool = True
) -> ProbeError:
    """Return the error for a response that a correct request should not receive."""
    seen = _Response(response, is_recognized)
    rows = (
        _of_readback,
        _of_networks,
        _of_walls,
        _of_gateways,
        _of_servers,
        _by_status,
    )
    found, finding = next(row for look in rows for row in look(seen) if row[0])
    if isinstance(found, ProbeError):
        return found
    return ProbeError(finding, **_facts(seen))


def _of_readback(seen: _Response) -> Iterator[_Seen]:
    if seen.is_recognized and (refusal := answers.parse_refusal(seen.received)):
        yield _readback_error(seen.received, refusal), ""
    if seen.has(*_REDIRECTS):
        location = seen.header("Location")
        recognized = seen.is_recognized
        yield redirects.judge(seen.received, location, is_recognized=recognized), ""


def _of_networks(seen: _Response) -> Iterator[_Seen]:
    """Yield the signs of proxies and portals."""
    # Over https, nothing between this machine and the certificate's owner can answer.
    is_open = not seen.received.url.startswith("https:")
    is_portal = seen.is_page and is_open and redirects.PORTAL.search(seen.said)
    yield seen.has(511) or is_portal, "http.captive_portal"
    is_direct = not (seen.received.proxy or seen.is_recognized)
    squid = seen.header("X-Squid-Error")
    is_proxy = is_direct and _NOT_FOR_PROXY.search(f"{squid} {seen.text}")
    yield is_proxy, "http.is_proxy"
    # A proxy shows an error of its own if it, or what is behind it, cannot go on.
    is_failed = seen.received.proxy and seen.status >= 500 and not seen.has(511)
    yield is_failed and not seen.is_recognized, "proxy.responded"
    signed = squid or seen.header("Proxy-Authenticate")
    yield signed or seen.has(407), "http.proxy_page"
    named = f"{seen.header('Server')} {seen.header('Via')}"
    named = f"{named} {seen.said}" if seen.is_page else named
    yield _PROXY_SERVERS.search(named), "http.proxy_page"
    received = seen.received
    yield answers.spoiled(received) or answers.error_in_success(received), ""


def _of_walls(seen: _Response) -> Iterator[_Seen]:
    """Yield the signs of pages that require a browser or block the request."""
    marks = " ".join(map(seen.header, _CHALLENGE_HEADERS)).lower()
    is_refused = seen.is_page or seen.has(*_CHALLENGE_STATUSES)
    is_challenge = is_refused and _CHALLENGE.search(seen.text)
    yield "challenge" in marks or is_challenge, "between.challenge"
    refresh = _REFRESH.search(seen.text) if seen.is_page else None
    wall = redirects.judge(seen.received, refresh[1]) if refresh else None
    yield (wall if wall and has_tag(wall.id, "wall") else None), ""
    yield answers.refuses_place(seen.received), "http.not_from_here"
    # A page that explains that a policy blocks the request.
    is_page = seen.is_page and not seen.received.proxy
    is_filter = _FILTER.search(seen.text) and _BLOCK.search(seen.text)
    yield is_page and is_filter, "http.proxy_page"


def _of_gateways(seen: _Response) -> Iterator[_Seen]:
    """Yield the signs of gateways whose service is down or has another address."""
    is_error = seen.has(200) or seen.status >= HTTPStatus.BAD_REQUEST
    is_missing = is_error and _NO_ROUTE.search(seen.text)
    yield is_missing and not answers.is_from_api(seen.received), "http.no_such_path"
    yield is_error and _NOT_ALLOWED.search(seen.text), "between.forbidden"
    is_notice = seen.is_page or seen.has(HTTPStatus.SERVICE_UNAVAILABLE)
    yield is_notice and _MAINTENANCE.search(seen.said), "http.gateway"
    is_down = _DOWN.search(f"{seen.text} {seen.said}") or seen.has(*_GATEWAY_ERRORS)
    yield is_down and not seen.received.proxy, "http.gateway"


def _of_servers(seen: _Response) -> Iterator[_Seen]:
    """Yield the signs of other servers, of proxies and of login pages."""
    declared = seen.header("Content-Type").lower()  # A page may be XHTML.
    # Macs receive AirPlay on ports 5000 and 7000, which many local servers use.
    yield seen.name.startswith("AirTunes"), "http.other_api"
    is_xml = "xml" in declared and "html" not in declared and seen.status < 500
    yield is_xml and not seen.is_recognized, "http.other_api"
    is_doubtful = seen.has(400, 403, *OF_FORM, *_GATEWAY_ERRORS)
    yield seen.received.proxy and is_doubtful, "proxy.responded"
    is_login = redirects.LOGIN.search(seen.said) or _PASSWORD_FIELD.search(seen.text)
    yield seen.is_page and is_login, "http.login_wall"


def _by_status(seen: _Response) -> Iterator[_Seen]:
    """Yield what the status suggests, for responses that nothing else explains."""
    yield seen.has(401), "http.sign_in"
    yield seen.has(429), "http.rate_limited"
    # A filter shows a page for people or says that it blocks the request.
    is_filter = seen.is_page or blocks(seen.received)
    yield seen.has(403) and not is_filter, "between.forbidden"
    is_rejected = seen.is_page and _REJECTED.search(seen.said)
    yield seen.has(403, 451) or is_rejected, "between.blocked"
    yield seen.is_recognized and answers.changed(seen.received), ""
    yield seen.is_recognized, "between.other_response"
    yield seen.received.is_success and answers.nothing_in(seen.received), ""
    yield seen.has(*OF_FORM), "between.forbidden"
    yield seen.status >= 500 and not seen.has(501), "http.gateway"
    is_missing = seen.has(*answers.NO_SUCH_PATH, HTTPStatus.GONE)
    yield seen.is_page and not is_missing and not seen.has(400), "http.html"
    is_other = seen.has(200) or seen.received.json is not None
    yield is_other, "http.other_api"
    yield is_missing, "http.no_such_path"
    yield True, "http.other_api"


def blocks(response: ProbeResponse) -> bool:
    """Return whether a refusal says that a filter or a firewall blocks the request."""
    said = answers.words(response)
    is_rejected = answers.is_html(response) and _REJECTED.search(said)
    is_filter = is_rejected or _FILTER.search(said) or _BANNED.search(said)
    return bool(is_filter or "blocked" in f"{said} {response.text}".lower())


def _facts(seen: _Response) -> dict[str, Fact]:
    seconds = seen.received.retry_after
    after = sanitize(seen.header("Retry-After"))
    after = say("seconds", number=seconds) if seconds else after
    has_body = seen.received.body.strip()
    nothing = say("no_explanation" if has_body else "an_empty_response")
    codes = map(seen.header, ("Ngrok-Error-Code", "X-Squid-Error"))
    code = sanitize(next(filter(None, codes), ""))
    # Pages often have the code in their title, too.
    code = "" if code in seen.said else code
    is_tunnel = _NO_TUNNEL.search(f"{seen.text} {code}")
    title = f"{seen.said} {code}".strip() or nothing
    facts: dict[str, Fact] = {
        "status": seen.status,
        "title": title,
        "detail": title,
        "name": seen.name or say("a_gateway"),
        "cause": say("tunnel_is_down" if is_tunnel else "cannot_reach"),
        "after": say("retry_after", after=after) if after else "",
        "when": say("after_time" if after else "in_a_few_minutes", after=after),
        "wait": seconds or say("a_few"),
        "paths": say("usual_paths"),
        "mac": say("is_airplay") if seen.name.startswith("AirTunes") else "",
        "root": "",
    }
    if proxy := seen.received.proxy:
        facts |= {"proxy": str(proxy), "variable": proxy.variable}
    return facts


def _readback_error(
    response: ProbeResponse, refusal: answers.ParsedRefusal
) -> ProbeError:
    facts: dict[str, Fact] = {"status": response.status, "detail": refusal.detail}
    if refusal.code == "rate_limited":
        wait = response.retry_after or say("a_few")
        return ProbeError("http.rate_limited", wait=wait, **facts)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = sanitize(response.headers.get("X-Request-Id", "?"))
        return ProbeError("http.unavailable", request_id=request_id, **facts)
    return ProbeError("http.refused", code=refusal.code, **facts)
