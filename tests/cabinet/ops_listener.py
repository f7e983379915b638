"""A listener where the cabinet expects that of the API; it says what a test wants."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread

from django.conf import settings
from django.test import override_settings

from readback.setting_values import Bind

STATUS = {
    "status": "ready",
    "errors": [],
    "version": "9.8.7",
    "started_at": 1_700_000_000,
    "workers": 3,
    "open_connections": 1234,
}


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """Listen where the cabinet expects the API; with None, accept and stay silent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if answer is not None:
            Thread(target=answer_once, args=(listener, answer), daemon=True).start()
        bind = Bind("127.0.0.1", listener.getsockname()[1])
        with override_settings(CONFIG=replace(settings.CONFIG, ops_bind=bind)):
            yield str(bind)


def answer_once(listener: socket.socket, answer: bytes) -> None:
    client, _address = listener.accept()
    with client:
        client.recv(4096)
        client.sendall(answer)


def http(body: object, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n\r\n".encode() + json.dumps(body).encode()
