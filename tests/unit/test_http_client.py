"""A request ends in time and with a bounded answer; slots limit the threads.

What is recorded of a connection is in `cabinet/keys/test_recorded_exchange.py`.
"""

import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPException

import pytest
from tests.support.peers import OK, answer, peer
from tests.support.waiting import wait_until

from readback.http_client import MAX_BODY_BYTES, NoFreeSlot, Slots, get

# A hundred times the deadline of a request that is to end by it.
SOON = 30.0


def test_a_listener_is_asked_whatever_its_family(tmp_path):
    path = tmp_path / "listener"
    with peer(answer(b"unix"), path=path) as server:
        assert get("http://localhost/x", SOON, (socket.AF_UNIX, str(path))) == (
            200,
            b"unix",
        )
    assert server.requests[0].startswith(b"GET /x HTTP/1.1\r\nHost: localhost\r\n")
    hosts = ["127.0.0.1", "::1"] if socket.has_dualstack_ipv6() else ["127.0.0.1"]
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, 0), family=family) as listener:
            serve_once(listener, answer(b"no", status=b"503 X"))
            address = (family, listener.getsockname())
            assert get("http://localhost/", SOON, address) == (503, b"no")


def serve_once(listener: socket.socket, *parts: bytes, pause: float = 0) -> None:
    def serve() -> None:
        client, _ = listener.accept()
        with client, suppress(OSError):  # the other side may close first
            client.recv(65_536)
            for part in parts:
                client.sendall(part)
                threading.Event().wait(pause)

    threading.Thread(target=serve, daemon=True).start()


def test_only_the_beginning_of_a_large_body_is_read():
    with peer(OK, b"\r\n", b"x" * 1_000_000) as server:
        assert get(server.url, SOON) == (200, b"x" * MAX_BODY_BYTES)


def test_an_answer_without_an_end_to_its_head_is_refused():
    with peer(OK, b"X: y\r\n" * 100_000) as server, pytest.raises(HTTPException):
        get(server.url, SOON)


def test_a_server_that_sends_a_byte_now_and_then_is_not_waited_for():
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serve_once(listener, *[b"H"] * 1000, pause=0.05)
        with pytest.raises(TimeoutError):
            get("http://localhost/", 0.3, (listener.family, listener.getsockname()))
    assert time.monotonic() - begun < SOON


def test_a_result_and_an_error_reach_the_caller():
    slots = Slots(1)
    assert slots.run(lambda: 7, 60) == 7
    with pytest.raises(ZeroDivisionError):
        slots.run(lambda: 1 // 0, 60)
    assert slots.free == 1


def test_a_slot_is_in_use_until_its_thread_ends():
    slots, end = Slots(1), threading.Event()
    with pytest.raises(TimeoutError):
        slots.run(end.wait, 0.01)
    with pytest.raises(NoFreeSlot):
        slots.run(end.wait, 60)
    end.set()
    wait_until(lambda: slots.free == 1, "the thread has ended")


@pytest.mark.parametrize(
    ("raised", "expected"), [(RuntimeError, NoFreeSlot), (MemoryError, MemoryError)]
)
def test_a_thread_that_cannot_be_started_gives_its_slot_back(
    monkeypatch, raised, expected
):
    slots = Slots(2)

    def fail(self: object) -> None:
        raise raised

    monkeypatch.setattr(threading.Thread, "start", fail)
    for _ in range(5):
        with pytest.raises(expected):
            slots.run(lambda: None, 60)
    assert slots.free == 2
