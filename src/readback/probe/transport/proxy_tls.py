"""TLS to the proxy itself, for proxies whose address starts with https://."""

from __future__ import annotations

import select
import socket
import ssl
import threading

from readback.probe.common.background import BackgroundCall
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import ProbeError
from readback.probe.transport.route import Proxy


def encrypt(
    sock: socket.socket, proxy: Proxy, trusted: ssl.SSLContext, timeout: float
) -> ssl.SSLSocket:
    facts = {"proxy": str(proxy), "variable": proxy.variable}
    try:
        # In the background, because every byte of a handshake may take a timeout.
        return BackgroundCall(
            lambda: trusted.wrap_socket(sock, server_hostname=proxy.host)
        ).result(timeout)
    except ssl.SSLCertVerificationError as error:
        reason = sanitize(error.verify_message)
        raise ProbeError("proxy.untrusted", reason=reason, **facts) from None
    except (socket.timeout, TimeoutError):
        raise ProbeError("proxy.silent", **facts) from None
    except OSError:
        raise ProbeError("proxy.not_tls", **facts) from None


def as_plain_socket(encrypted: ssl.SSLSocket) -> socket.socket:
    """Return a socket whose bytes travel through the encrypted one.

    TLS to the service, inside of TLS to the proxy, needs a socket of its own. A thread
    copies the bytes until one side closes.
    """
    near, far = socket.socketpair()
    copying = threading.Thread(target=_copy, args=(encrypted, far), daemon=True)
    copying.start()
    return near


def _copy(encrypted: ssl.SSLSocket, plain: socket.socket) -> None:
    with encrypted, plain:
        try:
            while _copy_some(encrypted, plain):
                pass
        except (OSError, ValueError):
            return


def _copy_some(encrypted: ssl.SSLSocket, plain: socket.socket) -> bool:
    """Copy what has arrived on either side; return False at the end of one."""
    waiting = encrypted.pending() > 0
    ready, _, _ = select.select([encrypted, plain], [], [], 0 if waiting else None)
    if waiting or encrypted in ready:
        encrypted.settimeout(0)
        try:
            data = encrypted.recv(65_536)
        except ssl.SSLWantReadError:
            data = None  # Only a part of a record, or a session ticket.
        if data == b"":
            return False
        plain.sendall(data or b"")
    if plain in ready:
        if not (data := plain.recv(65_536)):
            return False
        encrypted.settimeout(None)
        encrypted.sendall(data)
    return True
