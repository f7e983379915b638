"""The step "HTTP": does a Readback answer, or who else?

Asked without the key, so that a stranger never gets it: a Readback gives itself away
by how it refuses a path that it does not serve.
"""

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit

from readback.contract import REFUSALS
from readback.probe import tcp, tls
from readback.probe.calls import Answer
from readback.probe.diagnoses import found
from readback.probe.findings import Fact, Finding, Trouble
from readback.probe.scene import Scene
from readback.probe.wording import foreign, milliseconds

_NOWHERE = "/probe"
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
_GATEWAYS = {502, 503, 504}


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal in the form that only a Readback has."""

    code: str
    detail: str


def check(scene: Scene) -> Finding:
    scene.caller = scene.new_caller()
    try:
        answer = scene.ask(_NOWHERE, with_key=False)
    except Trouble as trouble:
        raise _closer_look(scene, trouble) from None
    refused = refusal_in(answer)
    if refused is None:
        raise _stranger(scene, answer)
    if refused.code != "not_found":
        raise trouble_of(answer, refused)
    scene.help_link = _help_link(answer)
    coding = answer.headers.get("Content-Encoding", "identity").lower()
    id = "http.readback" if coding == "identity" else "http.compressed"
    figure = milliseconds(answer.timing.answer)
    return found(id, figure=figure, coding=foreign(coding))


def refusal_in(answer: Answer) -> Refused | None:
    """Read a refusal, if it is one: code, detail and request id, all three."""
    detail = answer.headers.get("X-Error-Detail", "")
    code = _code(answer.body)
    row = REFUSALS.get(code)
    if row is None or answer.status != row.status or not detail:
        return None
    return Refused(code, foreign(detail)) if "X-Request-Id" in answer.headers else None


def trouble_of(answer: Answer, refused: Refused) -> Trouble:
    """Name what a Readback says to a request that is right."""
    row = REFUSALS[refused.code]
    if refused.code == "rate_limited":
        wait = foreign(answer.headers.get("Retry-After", "a few"))
        return Trouble("http.rate_limited", wait=wait)
    facts = {"code": refused.code, "detail": refused.detail}
    if row.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        request_id = foreign(answer.headers["X-Request-Id"])
        return Trouble("http.unavailable", request_id=request_id, **facts)
    return Trouble("http.refused", hint=row.hint, **facts)


def stranger(answer: Answer, url: str) -> Trouble:
    """Name who answers in place of a Readback."""
    if answer.status in _REDIRECTS:
        return _redirect(answer, url)
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return Trouble("http.proxy_login")
    if _is_captive_portal(answer):
        return Trouble("http.captive_portal")
    facts: dict[str, Fact] = {"status": answer.status, "title": _title(answer)}
    if _is_proxy(answer):
        return Trouble("http.proxy_page", **facts)
    if answer.status in _GATEWAYS:
        return Trouble("http.gateway", **facts)
    if _is_html(answer):
        return Trouble("http.html", **facts)
    is_api = json_in(answer.body) is not None
    return Trouble("http.other_api" if is_api else "http.other", **facts)


def json_in(body: bytes) -> Any:
    """Read JSON; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _closer_look(scene: Scene, trouble: Trouble) -> Trouble:
    """Tell a cut connection from a port that speaks another protocol."""
    port = scene.address.port
    if trouble.id == "http.cut" and _is_tls_port(scene):
        return Trouble("http.tls_port", port=port)
    if trouble.id != "http.cut" or scene.address.is_encrypted or scene.route.proxy_url:
        return trouble
    scene.budget.spend()
    words = tcp.first_words(scene.route, scene.timeout)
    is_http = not words or words.startswith(b"HTTP/")
    return trouble if is_http else Trouble("http.not_http", port=port)


def _stranger(scene: Scene, answer: Answer) -> Trouble:
    # Many a web server answers 400 in plain HTTP on its port for TLS.
    if answer.status == HTTPStatus.BAD_REQUEST and _is_tls_port(scene):
        return Trouble("http.tls_port", port=scene.address.port)
    return stranger(answer, f"{scene.address}{_NOWHERE}")


def _is_tls_port(scene: Scene) -> bool:
    """Ask whether https:// would have worked where http:// does not."""
    if scene.address.is_encrypted or scene.route.proxy_url:
        return False
    return tls.speaks_tls(scene)


def _redirect(answer: Answer, url: str) -> Trouble:
    target = urljoin(url, answer.headers.get("Location", ""))
    old, new = urlsplit(url), urlsplit(target)
    if _LOGIN_PAGE.search(target):
        return Trouble("http.captive_portal")
    if old.hostname == new.hostname and (old.scheme, new.scheme) == ("http", "https"):
        return Trouble("http.redirect_https")
    shown = f"{new.scheme}://{new.hostname or '?'}{new.path}"
    return Trouble("http.redirect", location=foreign(shown))


def _is_captive_portal(answer: Answer) -> bool:
    if answer.status == HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED:
        return True
    return _is_html(answer) and bool(_LOGIN_PAGE.search(_title(answer)))


def _is_proxy(answer: Answer) -> bool:
    headers = answer.headers
    signed = "X-Squid-Error" in headers or "Proxy-Authenticate" in headers
    named = " ".join((headers.get("Server", ""), headers.get("Via", "")))
    return signed or bool(_PROXY_SERVERS.search(named))


def _is_html(answer: Answer) -> bool:
    declared = "html" in answer.headers.get("Content-Type", "").lower()
    return declared or answer.body.lstrip()[:1] == b"<"


def _title(answer: Answer) -> str:
    match = _TITLE.search(answer.body)
    text = match[1].decode("utf-8", "replace") if match else ""
    return foreign(f"“{text.strip()}”") if text.strip() else "without a title"


def _code(body: bytes) -> str:
    """Give the code of an error body in the contract's form, or nothing."""
    said = json_in(body)
    error = said.get("error") if isinstance(said, dict) and len(said) == 1 else None
    # An operator may have added `message`; nothing else can stand there.
    if not isinstance(error, dict) or not set(error) <= {"code", "message"}:
        return ""
    return code if isinstance(code := error.get("code"), str) else ""


def _help_link(answer: Answer) -> str:
    match = _HELP.search(answer.headers.get("Link", ""))
    return match[1] if match else ""
