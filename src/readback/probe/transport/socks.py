"""Asks a SOCKS proxy for a tunnel: SOCKS 5 (RFC 1928 and 1929), 4 and 4a.

With `socks5h` and `socks4a`, the proxy resolves the host name; with `socks5` and
`socks4`, this machine does.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import time

from readback.probe.common.catalogue import say
from readback.probe.common.results import ProbeError
from readback.probe.entered.base_url import BaseUrl, is_ip_address
from readback.probe.transport.connecting import DeadlineSocket, resolve_within
from readback.probe.transport.route import Proxy

PORT = 1080
SCHEMES = ("socks5h", "socks5", "socks4a", "socks4")
_NO_LOGIN, _PASSWORD, _NO_METHOD = 0, 2, 0xFF
_IPV4, _NAME, _IPV6 = 1, 3, 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
# RFC 1928 §6.
_FAILURES = {
    1: ("proxy.cannot_connect", "general failure"),
    2: ("proxy.refuses", "not allowed by its rules"),
    3: ("proxy.cannot_connect", "network unreachable"),
    4: ("proxy.cannot_connect", "host unreachable"),
    5: ("proxy.cannot_connect", "connection refused"),
    6: ("proxy.cannot_connect", "no response"),
    7: ("proxy.refuses", "it does not support connections to other machines"),
    8: ("proxy.refuses", "it does not support this kind of address"),
}
_HOST_UNREACHABLE = 4
_GRANTED_4 = 0x5A


def open_tunnel(
    sock: socket.socket, proxy: Proxy, target: BaseUrl, deadline: float
) -> None:
    """Ask the proxy to pass the connection on."""
    host = target.host
    if proxy.scheme in ("socks5", "socks4") and not is_ip_address(host):
        try:
            left = max(0.0, deadline - time.monotonic())
            addresses = resolve_within(host, target.port, left)
        except OSError:
            here = say(
                ", and neither can this machine, which socks5:// and socks4:// need"
            )
            raise ProbeError("proxy.cannot_resolve", here=here) from None
        # IPv4 if there is one: more proxies have it.
        host = min(addresses, key=lambda address: ":" in address)
    talk = _talk_4 if proxy.scheme.startswith("socks4") else _talk_5
    talk(DeadlineSocket(sock, deadline), proxy, (host, target.port))


def _talk_5(peer: DeadlineSocket, proxy: Proxy, target: tuple[str, int]) -> None:
    methods = bytes([_NO_LOGIN, _PASSWORD] if proxy.login else [_NO_LOGIN])
    peer.sendall(bytes([5, len(methods)]) + methods)
    version, method = peer.recv_exactly(2)
    if version != 5:
        raise ProbeError("proxy.wrong_kind", why=say("it does not speak SOCKS"))
    if method == _NO_METHOD and proxy.login is None:
        raise ProbeError("proxy.login")
    if method not in methods:
        raise ProbeError("proxy.login_scheme", schemes=say("another method"))
    if method == _PASSWORD:
        _log_in(peer, proxy)
    host, port = target
    if is_ip_address(host):
        address = ipaddress.ip_address(host)
        kind = _IPV4 if address.version == 4 else _IPV6
        encoded = bytes([kind]) + address.packed
    else:
        encoded = bytes([_NAME, len(host)]) + host.encode()
    peer.sendall(b"\x05\x01\x00" + encoded + struct.pack("!H", port))
    _, reply, _, kind = peer.recv_exactly(4)
    if reply == _HOST_UNREACHABLE and not is_ip_address(host):
        raise ProbeError("proxy.cannot_resolve", here="")
    if reply:
        id, words = _FAILURES.get(reply, _FAILURES[1])
        raise ProbeError(id, reason=say(words))
    # The address that the proxy uses is of no interest, but has to be read.
    size = _ADDRESS_BYTES.get(kind) or peer.recv_exactly(1)[0]
    peer.recv_exactly(size + 2)


def _log_in(peer: DeadlineSocket, proxy: Proxy) -> None:
    assert proxy.login
    message = b"\x01"
    for part in proxy.login:
        encoded = part.encode("utf-8", "surrogateescape")
        if len(encoded) > 255:
            raise ProbeError("proxy.login_refused")
        message += bytes([len(encoded)]) + encoded
    peer.sendall(message)
    if peer.recv_exactly(2)[1]:
        raise ProbeError("proxy.login_refused")


def _talk_4(peer: DeadlineSocket, proxy: Proxy, target: tuple[str, int]) -> None:
    host, port = target
    if ":" in host:
        kind = say("it does not support this kind of address")
        raise ProbeError("proxy.refuses", reason=kind)
    user = proxy.login[0].encode("utf-8", "surrogateescape") if proxy.login else b""
    by_name = not is_ip_address(host)
    # SOCKS 4a: an address of the form 0.0.0.x announces a host name at the end.
    address = b"\0\0\0\1" if by_name else ipaddress.ip_address(host).packed
    name = host.encode() + b"\0" if by_name else b""
    peer.sendall(b"\x04\x01" + struct.pack("!H", port) + address + user + b"\0" + name)
    version, reply = peer.recv_exactly(2)
    if version:
        raise ProbeError("proxy.wrong_kind", why=say("it does not speak SOCKS"))
    peer.recv_exactly(6)
    if reply != _GRANTED_4:
        raise ProbeError("proxy.refuses", reason=f"SOCKS 4 reply {reply}")
