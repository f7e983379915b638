"""Opens a connection along a route, directly or through a proxy.

If an HTTP proxy refuses a tunnel, the report shows the status of its response, the
title of its page and its name, so that its administrator can find the request. Only
version 5 of SOCKS is supported (RFC 1928 and 1929): with `socks5h`, the proxy resolves
the host name; with `socks5`, this machine does.
"""

from __future__ import annotations

import errno
import http.client
import ipaddress
import select
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from email.message import Message

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import say
from readback.probe.common.formatting import page_title, sanitize
from readback.probe.common.results import ProbeError
from readback.probe.entered.base_url import BaseUrl, is_ip_address, shown_url
from readback.probe.transport import connecting
from readback.probe.transport.connecting import DeadlineSocket, Proxy, Route

_MAX_PAGE_BYTES = 65_536
_MAX_PART_BYTES = 4096
_MAX_TEXT_BYTES = 300
_HTML = "text/html"
_JSON = "application/json"
WEB_SERVER = {400, 404, 405, 501}


class FinalResponse(http.client.HTTPResponse):
    """A response that skips every interim response; `http.client` skips only 100."""

    def _read_status(self) -> tuple[str, int, str]:
        # RFC 9110 §15.2. A 101 is treated as final, because no request asks for it.
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 101 < status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)


def open_socket(route: Route, timeout: float) -> socket.socket:
    """Connect along the route, through a proxy tunnel if needed."""
    deadline = time.monotonic() + timeout
    addresses = route.addresses
    if not addresses:
        addresses = tuple(connecting.resolve_within(route.host, route.port, timeout))
    sock = connecting.connect(addresses, route.port, timeout)
    if route.proxy is None:
        return sock
    facts = route.proxy.facts(route.target)
    try:
        sock = _pass_proxy(sock, route, route.proxy, deadline)
    except ProbeError as error:
        raise error.with_facts(facts) from None
    except (socket.timeout, TimeoutError):
        # An HTTP server that receives SOCKS or TLS may still be waiting for a line end.
        proxy = Route(BaseUrl("http", route.host, route.port, ""), None, addresses)
        is_http = first_bytes(proxy, timeout).startswith(b"HTTP/")
        if is_http and route.proxy.scheme != "http":
            why = say("not_socks" if route.proxy.is_socks else "no_tls")
            raise ProbeError("proxy.wrong_kind", why=why, **facts) from None
        raise ProbeError("proxy.silent", **facts) from None
    except (OSError, http.client.HTTPException) as error:
        why = say("it_closed" if isinstance(error, OSError) else "not_http")
        raise ProbeError("proxy.wrong_kind", why=why, **facts) from None
    sock.settimeout(timeout)
    return sock


def failed(route: Route, error: OSError) -> ProbeError:
    # The other side closed the connection just after accepting it.
    if isinstance(error, ConnectionResetError) or error.errno == errno.ENOTCONN:
        return ProbeError("http.cut", cut=say("cut_before"))
    reason = sanitize(error.strerror or str(error)) or say("no_response")
    # The numbers of TLS errors are not system error numbers.
    number = 0 if isinstance(error, ssl.SSLError) else error.errno or 0
    is_local = number in connecting.LOCAL_ERRORS
    finding = "tcp.forbidden" if is_local else "http.no_connection"
    return ProbeError(finding, host=route.host, port=route.port, reason=reason)


def _pass_proxy(
    sock: socket.socket, route: Route, proxy: Proxy, deadline: float
) -> socket.socket:
    try:
        if proxy.trusted:
            sock = _encrypt(sock, proxy.host, proxy.trusted, deadline)
        if route.uses_tunnel:
            open_tunnel = open_socks_tunnel if proxy.is_socks else _open_tunnel
            open_tunnel(sock, proxy, route.target, deadline)
            if isinstance(sock, ssl.SSLSocket):
                return _as_plain_socket(sock)
        return sock
    except BaseException:
        sock.close()
        raise


def first_bytes(route: Route, timeout: float) -> bytes:
    try:
        with open_socket(route, timeout) as sock:
            host = route.target.host.encode()
            sock.sendall(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            return sock.recv(64)
    except OSError:
        return b""


def _encrypt(
    sock: socket.socket, host: str, trusted: ssl.SSLContext, deadline: float
) -> ssl.SSLSocket:
    # Use a background thread, as a socket's timeout restarts with every byte.
    call = BackgroundCall(lambda: trusted.wrap_socket(sock, server_hostname=host))
    try:
        return call.result(max(0.0, deadline - time.monotonic()))
    except ssl.SSLCertVerificationError as error:
        why = say("not_trusted", reason=sanitize(error.verify_message))
        raise ProbeError("proxy.wrong_kind", why=why) from None
    except (socket.timeout, TimeoutError):
        raise
    except OSError:
        raise ProbeError("proxy.wrong_kind", why=say("no_tls")) from None


def _as_plain_socket(encrypted: ssl.SSLSocket) -> socket.socket:
    """Return a plain socket for TLS inside TLS; a thread relays its data over TLS."""
    near, far = socket.socketpair()

    def copy() -> None:
        with encrypted, far, suppress(OSError, ValueError):
            while True:
                waits = 0 if encrypted.pending() else None
                ready, _, _ = select.select([encrypted, far], [], [], waits)
                if waits == 0 or encrypted in ready:
                    encrypted.settimeout(0)
                    # Only part of a record, or a session ticket, may have arrived.
                    with suppress(ssl.SSLWantReadError):
                        if not (data := encrypted.recv(65_536)):
                            return
                        far.sendall(data)
                if far in ready:
                    if not (data := far.recv(65_536)):
                        return
                    encrypted.settimeout(None)
                    encrypted.sendall(data)

    threading.Thread(target=copy, daemon=True).start()
    return near


def _open_tunnel(
    sock: socket.socket, proxy: Proxy, target: BaseUrl, deadline: float
) -> None:
    """Ask the proxy to tunnel the connection (RFC 9110 §9.3.6)."""
    wire = DeadlineSocket(sock, deadline)
    host = f"[{target.host}]" if ":" in target.host else target.host
    authority = f"{host}:{target.port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    lines += [f"{name}: {value}" for name, value in proxy.authorization.items()]
    wire.sendall("\r\n".join([*lines, "", ""]).encode())
    response = FinalResponse(wire)  # type: ignore[arg-type]
    response.begin()
    # A tunnel has no body: a page means a login or a block, and JSON means an API.
    is_content = response.headers.get_content_type() in (_HTML, _JSON)
    if not 200 <= response.status < 300 or is_content:
        raise _refusal(response, proxy)


def _read_page(response: http.client.HTTPResponse) -> bytes:
    page = bytearray()
    with suppress(OSError, ValueError, http.client.HTTPException):
        while len(page) < _MAX_PAGE_BYTES and (part := response.read1(_MAX_PART_BYTES)):
            page += part
    return bytes(page)


def _refusal(response: http.client.HTTPResponse, proxy: Proxy) -> ProbeError:
    status = response.status
    headers = response.headers
    page = _read_page(response)
    if status == 407:
        return login_error(headers, proxy)
    text = page.decode("utf-8", "replace")
    # A proxy, or an API in its place, may give the reason in a line of JSON or text.
    short = sanitize(text) if len(page) <= _MAX_TEXT_BYTES and "<" not in text else ""
    title = page_title(text) or short
    names = [headers.get(name, "") for name in ("Proxy-Agent", "Via", "Server")]
    squid = headers.get("X-Squid-Error", "")
    named = next(filter(None, names), "Squid" if squid else "")
    shown = sanitize(f"{status} {response.reason} {squid}".strip())
    said = filter(
        None, (shown, say("quoted", text=title) if title else "", sanitize(named))
    )
    reason = ", ".join(said)
    location = headers.get("Location", "")
    is_api = status < 300 and headers.get_content_type() == _JSON
    if not is_api and (status in (401, 511) or status < 400):
        where = f", {shown_url(location)}" if location else ""
        page_of_login = say("login_page", reason=f"{reason}{where}")
        return ProbeError("proxy.login_scheme", schemes=page_of_login, status=shown)
    if is_api or status in WEB_SERVER:
        why = say("is_web_server", reason=reason)
        return ProbeError("proxy.wrong_kind", why=why, status=shown)
    finding = "proxy.cannot_reach" if status >= 500 else "proxy.cannot_connect"
    return ProbeError(finding, reason=reason, status=shown)


def login_error(headers: Message, proxy: Proxy) -> ProbeError:
    """Return the error for a proxy that requires a login or rejects the given one."""
    values = headers.get_all("Proxy-Authenticate", [])
    offered = [value.split()[0] for value in values if value.strip()]
    if offered and "basic" not in map(str.lower, offered):
        schemes = sanitize(", ".join(offered))
        return ProbeError("proxy.login_scheme", schemes=schemes)
    how = say("it_refuses_the_login" if proxy.login else "none_is_set")
    return ProbeError("proxy.login", how=how)


SOCKS_PORT = 1080
SOCKS_SCHEMES = ("socks5h", "socks5")
_NO_LOGIN = 0
_PASSWORD = 2
_NO_METHOD = 0xFF
_IPV4 = 1
_NAME = 3
_IPV6 = 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
# The replies of RFC 1928 §6, except for a general failure.
_FAILURES = {
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
}


def open_socks_tunnel(
    sock: socket.socket, proxy: Proxy, target: BaseUrl, deadline: float
) -> None:
    host = target.host
    if proxy.scheme == "socks5" and not is_ip_address(host):
        try:
            left = max(0.0, deadline - time.monotonic())
            addresses = connecting.resolve_within(host, target.port, left)
        except OSError:
            why = say("not_resolved_here")
            raise ProbeError("proxies.malformed", why=why) from None
        # Prefer IPv4, which more proxies support.
        host = min(addresses, key=lambda address: ":" in address)
    peer = DeadlineSocket(sock, deadline)
    methods = bytes([_NO_LOGIN, _PASSWORD] if proxy.login else [_NO_LOGIN])
    peer.sendall(bytes([5, len(methods)]) + methods)
    version, method = peer.recv_exactly(2)
    if version != 5:
        raise ProbeError("proxy.wrong_kind", why=say("not_socks"))
    if method == _NO_METHOD and proxy.login is None:
        raise ProbeError("proxy.login", how=say("none_is_set"))
    if method not in methods:
        raise ProbeError("proxy.login_scheme", schemes=say("another_method"))
    if method == _PASSWORD:
        _log_in(peer, proxy)
    if is_ip_address(host):
        address = ipaddress.ip_address(host)
        address_type = _IPV4 if address.version == 4 else _IPV6
        encoded = bytes([address_type]) + address.packed
    else:
        encoded = bytes([_NAME, len(host)]) + host.encode()
    peer.sendall(b"\x05\x01\x00" + encoded + struct.pack("!H", target.port))
    _, reply, _, address_type = peer.recv_exactly(4)
    if reply:
        finding = "proxy.cannot_connect" if reply == 2 else "proxy.cannot_reach"
        raise ProbeError(finding, reason=_FAILURES.get(reply, "general failure"))
    # Read and discard the address that the proxy uses.
    size = _ADDRESS_BYTES.get(address_type) or peer.recv_exactly(1)[0]
    peer.recv_exactly(size + 2)


def _log_in(peer: DeadlineSocket, proxy: Proxy) -> None:
    assert proxy.login
    message = b"\x01"
    for part in proxy.login:
        encoded = part.encode("utf-8", "surrogateescape")
        if len(encoded) > 255:
            raise ProbeError("proxy.login", how=say("it_refuses_the_login"))
        message += bytes([len(encoded)]) + encoded
    peer.sendall(message)
    if peer.recv_exactly(2)[1]:
        raise ProbeError("proxy.login", how=say("it_refuses_the_login"))
