"""Opens a connection along a route, directly or through the tunnel of a proxy.

Every step connects in this way, so that the report always describes the connections
that were really made.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from readback.probe.background import BackgroundCall
from readback.probe.connection.race import connect
from readback.probe.connection.route import Route
from readback.probe.entered.base_url import BaseUrl
from readback.probe.formatting import sanitize
from readback.probe.results import ProbeError

_MAX_HEAD_BYTES = 16_384


def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host in the order in which clients try them."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # Not even a name that could be looked up.
        raise socket.gaierror(socket.EAI_NONAME, "invalid name") from None
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def open_socket(route: Route, timeout: float) -> socket.socket:
    """Connect along the route, through the tunnel of a proxy if it needs one."""
    addresses: Sequence[str] = route.addresses
    if not addresses:
        look_up = BackgroundCall(lambda: resolve(route.host, route.port))
        addresses = look_up.result(timeout)
    sock = connect(addresses, route.port, timeout)
    try:
        if route.uses_tunnel:
            _open_tunnel(sock, route)
    except BaseException:
        sock.close()
        raise
    return sock


def first_bytes(route: Route, timeout: float) -> bytes:
    """Send a plain HTTP request and return the first bytes of the response."""
    try:
        with open_socket(route, timeout) as sock:
            host = route.target.host.encode()
            sock.sendall(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            return sock.recv(64)
    except OSError:
        return b""


def _open_tunnel(sock: socket.socket, route: Route) -> None:
    """Ask the proxy for a tunnel (RFC 9110 §9.3.6)."""
    assert route.proxy is not None
    host = route.target.host
    target = _authority(route.target)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    lines += [f"{name}: {value}" for name, value in route.proxy.authorization.items()]
    try:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        status_line = _read_head(sock).partition("\r\n")[0]
    except OSError as error:
        reason = sanitize(error.strerror or str(error)).lower()
        raise ProbeError("proxy.refuses", host=host, reason=reason) from None
    _, _, outcome = status_line.partition(" ")
    if outcome.startswith("407"):
        raise ProbeError("proxy.login")
    if not outcome.startswith("2"):
        reason = sanitize(outcome) or "it closed the connection"
        raise ProbeError("proxy.refuses", host=host, reason=reason)


def _authority(target: BaseUrl) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{host}:{target.port}"


def _read_head(sock: socket.socket) -> str:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD_BYTES:
        # Byte by byte, because what follows the head belongs to the handshake.
        if not (byte := sock.recv(1)):
            break
        head += byte
    return head.decode("latin-1")
