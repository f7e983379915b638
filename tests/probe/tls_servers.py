"""Servers that break the TLS handshake, with raw bytes that no library would send."""

import os
import socket
import struct

from tests.probe.broken_servers import Behavior

_HELLO_SIZE = 65536
UNRECOGNIZED_NAME, NO_APPLICATION_PROTOCOL = 112, 120
_SERVER_HELLO = 2
_ECDHE_RSA_AES128_GCM_SHA256 = b"\xc0\x2f"
# RFC 5746: OpenSSL 3 rejects servers that do not send this extension.
_RENEGOTIATION_INFO = bytes.fromhex("ff01000100")


def send_alert(number: int) -> Behavior:
    """Refuse the handshake with a fatal alert (RFC 8446 §6)."""

    def behave(client: socket.socket) -> None:
        client.recv(_HELLO_SIZE)
        client.sendall(_record(21, bytes([2, number])))
        client.close()

    return behave


def cut_after_hello(client: socket.socket) -> None:
    client.recv(_HELLO_SIZE)
    client.sendall(_record(22, _hello(_RENEGOTIATION_INFO)))
    client.close()


def stall_after_hello(client: socket.socket) -> None:
    client.recv(_HELLO_SIZE)
    client.sendall(_record(22, _hello(_RENEGOTIATION_INFO)))


def reset(client: socket.socket) -> None:
    client.recv(_HELLO_SIZE)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def send_noise(client: socket.socket) -> None:
    client.recv(_HELLO_SIZE)
    client.sendall(os.urandom(4096))
    client.close()


def send_noise_in_records(client: socket.socket) -> None:
    client.recv(_HELLO_SIZE)
    client.sendall(_record(22, _hello(_RENEGOTIATION_INFO)))
    client.sendall(_record(22, b"\x63" + os.urandom(2000)))
    client.close()


def trickle(client: socket.socket) -> None:
    """Send only the start of a record, and keep the connection open."""
    client.recv(_HELLO_SIZE)
    client.sendall(b"\x16\x03\x03\x40\x00\x02")


def speak_http2(client: socket.socket) -> None:
    """Send SETTINGS and GOAWAY, as HTTP/2 servers do in reply to HTTP/1.1."""
    client.recv(_HELLO_SIZE)
    settings = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + b"\x00\x03\x00\x00\x00\x80"
    go_away = b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + b"\x00" * 7 + b"\x01"
    client.sendall(settings + go_away)
    client.close()


def _record(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + b"\x03\x03" + len(content).to_bytes(2, "big") + content


def _hello(extensions: bytes) -> bytes:
    """Return the ServerHello of a TLS 1.2 server (RFC 5246 §7.4.1.3)."""
    body = b"\x03\x03" + os.urandom(32) + b"\x00" + _ECDHE_RSA_AES128_GCM_SHA256
    body += b"\x00" + (len(extensions).to_bytes(2, "big") + extensions)
    return bytes([_SERVER_HELLO]) + len(body).to_bytes(3, "big") + body
