"""Delays, as on a busy machine, do not change a diagnosis."""

import socket
import time
from collections.abc import Callable

import pytest

from readback.probe.connection import tls
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.service.endpoint import EventStream
from readback.probe.transport import opening
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.connecting import DeadlineSocket, Route
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import (
    RequestBudget,
)
from readback.probe.transport.handshake import Handshake
from tests.probe.broken_servers import socket_server
from tests.probe.probing import found, probed
from tests.probe.provider import MODEL as CHAT_MODEL
from tests.probe.provider import provider
from tests.probe.setups import ProbeInput, Resources


def _place(url: str) -> tuple[str, int]:
    port = url.rpartition(":")[2].partition("/")[0]
    return "127.0.0.1", int(port)


# Connections.


def test_the_time_to_connect_is_not_that_of_the_answer(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def open_late(route: Route, timeout: float) -> socket.socket:
        opened.append(timeout)
        time.sleep(0.6)
        return original(route, timeout)

    original = opening.open_socket
    monkeypatch.setattr(opening, "open_socket", open_late)
    url = BaseUrl("http", *_place(resources.readback.base_url), "/v1")
    budget = RequestBudget()
    with ProbeClient(Route(url), None, 60.0, budget, set(), {}) as client:
        response = client.request("/v1/probe")
    assert opened == [60.0]
    assert response.seconds <= budget.exchanges[0].seconds - 0.6


# Handshakes without the host name.


def test_a_handshake_without_the_name_may_take_as_long_as_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = []

    def shake(_route, _trust, timeout: float, name: str | None) -> Handshake:
        limits.append(timeout)
        return Handshake(error=TimeoutError() if name else None)

    monkeypatch.setattr(tls, "shake", shake)
    context = ProbeContext("https://api.example.com/v1", Secret(""), timeout=7.0)
    context.base_url = BaseUrl("https", "api.example.com", 443, "/v1")
    context.route = Route(context.base_url)
    error = tls.explain_broken(context, Handshake(error=TimeoutError()))
    assert error.id == "tls.filtered_name"
    assert limits == [7.0, 7.0]


# A proxy that refuses.


def through_proxy(
    behave: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> ProbeReport:
    """Probe through a proxy that behaves this way when it is asked for a tunnel."""
    with socket_server(behave) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        return probed(ProbeInput("https://echo.example/v1", ""))


def test_a_page_that_a_proxy_sends_late_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def behave(client: socket.socket) -> None:
        if client.recv(65_536):
            client.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            time.sleep(1.5)
            client.sendall(b"<html>Unknown host: echo.example</html>")
        client.close()

    found(through_proxy(behave, monkeypatch), "proxy.cannot_reach")


def test_a_page_is_not_waited_for_once_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received = []

    def behave(client: socket.socket) -> None:
        if client.recv(65_536):
            client.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
            received.append(client.recv(1))  # Empty: the probe closed the connection.

    monkeypatch.setattr(
        DeadlineSocket, "_limit", lambda sock: sock._socket.settimeout(60)
    )
    found(through_proxy(behave, monkeypatch), "proxy.cannot_reach")
    assert set(received) == {b""}


# A stream.


def stream_id(**behavior: object) -> str:
    with provider(key=None, **behavior) as server:
        report = probed(ProbeInput(server.base_url, "", chat=CHAT_MODEL))
    ids = [result.diagnosis.id for result in report.results if result.step == "stream"]
    return ids[0]


@pytest.fixture
def _reads_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delay the probe after each part that it reads, as on a busy machine."""

    def feed(self: EventStream, received: bytes, moment: float) -> None:
        original(self, received, moment)
        time.sleep(0.01)

    original = EventStream.feed
    monkeypatch.setattr(EventStream, "feed", feed)


@pytest.mark.usefixtures("_reads_slowly")
def test_a_stream_that_was_held_back_is_found_by_a_slow_reader() -> None:
    assert stream_id(pause=0.05, is_buffered=True) == "stream.together"


@pytest.mark.usefixtures("_reads_slowly")
def test_a_stream_that_arrives_in_parts_is_right_for_a_slow_reader() -> None:
    assert stream_id(pause=0.1) == "stream.ok"


def test_a_stream_that_is_received_late_once_was_not_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pretend that the probe reads the whole first stream a second late."""
    seen: list[EventStream] = []

    def feed(self: EventStream, received: bytes, moment: float) -> None:
        seen.extend([self] if self not in seen else [])
        # The first object is the completion in one piece; the second is a stream.
        late = self._started + 1.0
        original(self, received, late if seen.index(self) == 1 else moment)

    original = EventStream.feed
    monkeypatch.setattr(EventStream, "feed", feed)
    assert stream_id(pause=0.05) == "stream.ok"
    assert len(seen) == 3
