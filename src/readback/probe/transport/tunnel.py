"""Asks an HTTP proxy for a tunnel, and tells apart why it does not give one.

What a proxy responds instead is shown with its status, the title of its page and its
name, so that its administrator can find it.
"""

from __future__ import annotations

import re
import socket
from email import message_from_string
from email.message import Message

from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import BaseUrl
from readback.probe.transport.deadline import DeadlineSocket
from readback.probe.transport.route import Proxy

_MAX_HEAD_BYTES = 16_384
_MAX_PAGE_BYTES = 65_536
_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)? (\d{3})")
# Squid 5.7 responds to CONNECT with ERR_CANNOT_FORWARD if the name does not exist.
_CANNOT_RESOLVE = re.compile(
    r"ERR_DNS_FAIL|ERR_CANNOT_FORWARD|NXDOMAIN|getaddrinfo"
    r"|no such (host|domain)|unknown host"
    r"|(can ?not|could not|unable to|failed to) resolve"
    r"|(host|name|domain)\b[^.<]{0,40} not (be )?(resolved|found)"
    r"|(dns|name|host)\w* (resolution|lookup) (failed|failure|error)",
    re.IGNORECASE,
)
_CONTENT_LENGTH = re.compile(r"^content-length: *(\d{1,9})\r?$", re.I | re.M)
_CANNOT_CONNECT = {500, 502, 503, 504}
_WEB_SERVER = {400, 404, 405, 501}


def open_tunnel(
    sock: socket.socket, proxy: Proxy, target: BaseUrl, deadline: float
) -> None:
    """Ask the proxy to pass the connection on (RFC 9110 §9.3.6)."""
    facts = proxy.facts(target)
    wire = DeadlineSocket(sock, deadline)
    head = _ask(wire, proxy, target, facts)
    match = _STATUS_LINE.match(head)
    if not match:
        raise ProbeError("proxy.not_http" if head else "proxy.closed", **facts)
    status = int(match[1])
    if not 200 <= status < 300:
        raise _refusal(status, head, _read_page(wire, head), proxy, facts)


def raise_if_unresolved(proxy: Proxy, target: BaseUrl, headers: Message) -> None:
    """Raise `ProbeError` if the proxy could not resolve the host of a plain request."""
    if "ERR_DNS_FAIL" in headers.get("X-Squid-Error", ""):
        raise ProbeError(
            "proxy.cannot_resolve", host=target.host, proxy=str(proxy), by="Squid"
        )


def _ask(
    sock: DeadlineSocket, proxy: Proxy, target: BaseUrl, facts: dict[str, Fact]
) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    authority = f"{host}:{target.port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    lines += [f"{name}: {value}" for name, value in proxy.authorization.items()]
    try:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        return _read_head(sock)
    except (socket.timeout, TimeoutError):
        raise ProbeError("proxy.silent", **facts) from None
    except OSError:
        raise ProbeError("proxy.closed", **facts) from None


def _read_head(sock: DeadlineSocket) -> str:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD_BYTES:
        # Byte by byte, because what follows the head belongs to the handshake.
        if not (byte := sock.recv(1)):
            break
        head += byte
    return head.decode("latin-1")


def _read_page(sock: DeadlineSocket, head: str) -> bytes:
    """Return the page as far as it arrives in time; its end is not important."""
    length = _CONTENT_LENGTH.search(head)
    size = min(int(length[1]) if length else _MAX_PAGE_BYTES, _MAX_PAGE_BYTES)
    page = b""
    try:
        while len(page) < size and b"</html>" not in page.lower():
            if not (part := sock.recv(4096)):
                break
            page += part
    except OSError:
        pass
    return page


def _refusal(
    status: int, head: str, page: bytes, proxy: Proxy, facts: dict[str, Fact]
) -> ProbeError:
    status_line, _, fields = head.partition("\r\n")
    headers = message_from_string(fields)
    if status == 407:
        return _login_error(headers, proxy, facts)
    title = page_title(page)
    facts["status"] = sanitize(status_line.partition(" ")[2])
    facts["title"] = f"“{title}”" if title else "without a title"
    facts["by"] = _name(headers)
    text = page.decode("utf-8", "replace")
    described = f"{headers.get('X-Squid-Error', '')} {status_line} {text}"
    if status >= 404 and _CANNOT_RESOLVE.search(described):
        return ProbeError("proxy.cannot_resolve", **facts)
    if status in _CANNOT_CONNECT:
        return ProbeError("proxy.cannot_connect", reason=facts["status"], **facts)
    if status in _WEB_SERVER:
        return ProbeError("proxy.not_a_proxy", **facts)
    if title:
        return ProbeError("proxy.error_page", **facts)
    return ProbeError("proxy.refuses", reason=facts["status"], **facts)


def _login_error(headers: Message, proxy: Proxy, facts: dict[str, Fact]) -> ProbeError:
    values = headers.get_all("Proxy-Authenticate", [])
    offered = [value.split()[0] for value in values if value.strip()]
    if offered and "basic" not in map(str.lower, offered):
        schemes = sanitize(" or ".join(offered))
        return ProbeError("proxy.login_scheme", schemes=schemes, **facts)
    return ProbeError("proxy.login_refused" if proxy.login else "proxy.login", **facts)


def _name(headers: Message) -> str:
    """Return what the proxy calls itself."""
    names = (headers.get(name, "") for name in ("Proxy-Agent", "Via", "Server"))
    named = next(filter(None, names), "")
    if not named and "X-Squid-Error" in headers:
        named = "Squid"
    return sanitize(named) or "a proxy without a name"
