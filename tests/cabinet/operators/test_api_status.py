"""The question to the API: strange, silent and good answers."""

import socket
from threading import Thread

import pytest
from django.conf import settings

from readback.cabinet.operators import status
from readback.setting_values import Bind
from tests.cabinet.operators.ops_listener import (
    STATUS,
    answer_once,
    answering,
    http,
    patience,
)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x15\x03\x01 TLS?",
        http(STATUS, "404 Not Found"),
        http([]),
        http("text"),
        http(STATUS | {"more": 1}),
        http(STATUS | {"status": []}),
        http(STATUS | {"errors": {}}),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 16_000,
        http(STATUS | {"workers": "3"}),
        http(STATUS | {"started_at": 10**18}),
        http(STATUS | {"errors": ["x" * 301]}),
        http(STATUS) + b"x" * 100_000,
    ],
)
def test_a_strange_answer_is_no_state(answer):
    with answering(answer):
        report = status.ApiQuestion(settings.CONFIG.ops_bind).report()

    assert (report.status, report.is_strange) == (None, True)


def test_a_unix_socket_is_asked_too(tmp_path):
    path = str(tmp_path / "ops")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        Thread(target=answer_once, args=(listener, http(STATUS)), daemon=True).start()
        with patience():
            report = status.ApiQuestion(Bind("", 0, path)).report()

    assert report.status and report.status.version == "9.8.7"
