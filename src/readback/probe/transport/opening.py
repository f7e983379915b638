"""Opens a connection along a route, directly or through a proxy.

Every step connects in this way, so that the report always describes the connections
that were really made.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from readback.probe.transport import proxy_tls, socks, tunnel
from readback.probe.transport.lookup import resolve_within
from readback.probe.transport.race import connect
from readback.probe.transport.route import Proxy, Route


def open_socket(route: Route, timeout: float) -> socket.socket:
    """Connect along the route, through the tunnel of a proxy if it needs one."""
    deadline = time.monotonic() + timeout
    addresses: Sequence[str] = route.addresses
    if not addresses:
        addresses = resolve_within(route.host, route.port, timeout)
    sock = connect(addresses, route.port, timeout)
    if route.proxy is None:
        return sock
    try:
        sock = _pass_proxy(sock, route, route.proxy, deadline)
    except BaseException:
        sock.close()
        raise
    sock.settimeout(timeout)
    return sock


def _pass_proxy(
    sock: socket.socket, route: Route, proxy: Proxy, deadline: float
) -> socket.socket:
    if proxy.is_socks:
        socks.open_tunnel(sock, proxy, route.target, deadline)
        return sock
    if proxy.trusted is None:
        if route.uses_tunnel:
            tunnel.open_tunnel(sock, proxy, route.target, deadline)
        return sock
    left = max(0.0, deadline - time.monotonic())
    encrypted = proxy_tls.encrypt(sock, proxy, proxy.trusted, left)
    if not route.uses_tunnel:
        return encrypted
    try:
        tunnel.open_tunnel(encrypted, proxy, route.target, deadline)
        return proxy_tls.as_plain_socket(encrypted)
    except BaseException:
        encrypted.close()
        raise


def first_bytes(route: Route, timeout: float) -> bytes:
    """Send a plain HTTP request and return the first bytes of the response."""
    try:
        with open_socket(route, timeout) as sock:
            host = route.target.host.encode()
            sock.sendall(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            return sock.recv(64)
    except OSError:
        return b""
