"""Looks up a host name with a time limit, which `getaddrinfo` does not have."""

from __future__ import annotations

import socket

from readback.probe.common.background import BackgroundCall


def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host in the order in which clients try them."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError:  # A name that cannot be written as a DNS name.
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def resolve_within(host: str, port: int, timeout: float) -> list[str]:
    """Return the addresses, or raise `OSError`, also if the lookup is late."""
    return BackgroundCall(lambda: resolve(host, port)).result(timeout)
