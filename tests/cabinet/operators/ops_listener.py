"""A listener where the cabinet expects that of the API; it says what a test wants."""

import json
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from threading import Thread
from unittest.mock import patch

from django.conf import settings
from django.test import override_settings

from readback.cabinet.operators import status as operator_status
from readback.setting_values import Bind
from tests.support.waiting import PATIENCE

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
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        if answer is not None:
            stack.enter_context(patience())
            Thread(target=answer_once, args=(listener, answer), daemon=True).start()
        bind = Bind("127.0.0.1", listener.getsockname()[1])
        with override_settings(CONFIG=replace(settings.CONFIG, ops_bind=bind)):
            yield str(bind)


def patience() -> AbstractContextManager[object]:
    """Wait for an answer that comes, even if this takes a busy machine long."""
    return patch.object(operator_status, "TIMEOUT_SECONDS", PATIENCE)


def answer_once(listener: socket.socket, answer: bytes) -> None:
    client, _address = listener.accept()
    with client:
        client.recv(4096)
        client.sendall(answer)


def http(body: object, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n\r\n".encode() + json.dumps(body).encode()
