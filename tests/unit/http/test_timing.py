"""The measured time of a request includes the time when this process was busy."""

import asyncio
import socket
import threading
import time
from types import SimpleNamespace

import pytest
from tests.support.listener import Listener, listening
from tests.support.waiting import PATIENCE, wait_until

from readback.http.timing import SAMPLED, Timing, Untimed

TICK = 20  # milliseconds, at least twice a kernel's longest tick
STALL = 0.2
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


def measure_all(listener: Listener) -> list[int]:
    noted: list[int] = []
    listener.registry.timing = Timing(noted.append)
    listener.registry.is_timed = lambda: True
    return noted


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (b"", HEAD + b"Content-Length: 2\r\n\r\nhi"),
        (HEAD + b"Content-Length: 2\r\n\r\nh", b"i"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", b"0\r\n\r\n"),
        (b"", HEAD + b"Connection: close\r\n\r\n"),
        (b"", HEAD.replace(b"POST", b"HEAD") + b"\r\n"),
    ],
)
def test_a_stall_counts_even_if_it_begins_before_the_request_is_read(
    begin: bytes, rest: bytes
):
    stalled, go_on = threading.Event(), threading.Event()

    def stall() -> None:
        stalled.set()
        go_on.wait(PATIENCE)

    with listening() as listener, listener.endpoint.connect() as client:
        noted = measure_all(listener)
        listener.read_from(client, begin)
        time.sleep(STALL)  # the client's own pause does not count
        listener.loop.call_soon_threadsafe(stall)
        assert stalled.wait(PATIENCE)
        sent = time.monotonic()
        client.send(rest)
        time.sleep(STALL)
        go_on.set()
        wait_until(lambda: noted, "its time is noted")
        most = (time.monotonic() - sent) * 1000

    assert STALL * 1000 - TICK <= noted[0] <= most + TICK


def test_a_request_that_the_client_did_not_finish_is_not_measured():
    with listening(own_time=True) as listener, listener.endpoint.connect() as client:
        noted = measure_all(listener)
        listener.read_from(client, HEAD)
        listener.pass_time(3600)
        assert client.read_answer().status == 408
        assert client.at_end()
    assert noted == []


@pytest.mark.parametrize("answer", [b"x", Untimed(b"x")])
def test_nothing_is_noted_without_tcp_or_for_an_answer_that_is_late_on_purpose(answer):
    noted, written = [], []

    async def measure() -> None:
        with socket.socket(socket.AF_UNIX) as unix:
            transport = SimpleNamespace(get_extra_info=lambda name: unix)
            timing = Timing(noted.append)
            timing.measure(transport, answer, lambda: written.append(answer))
            await asyncio.sleep(0)

    asyncio.run(measure())
    assert noted == []
    assert bool(written) == (not isinstance(answer, Untimed))


def test_one_request_in_61_is_measured():
    is_due = Timing(lambda milliseconds: None).is_due
    assert sum(is_due() for _ in range(10 * SAMPLED)) == 10
    is_never_due = Timing().is_due
    assert not any(is_never_due() for _ in range(1000))
