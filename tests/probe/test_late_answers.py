"""An answer that is late, as on a busy machine, does not change a diagnosis.

Each test holds back exactly the answers whose lateness could be taken for a loss.
"""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from itertools import combinations
from threading import Event

import pytest

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.common.results import ProbeError
from readback.probe.connection import dns, failed_handshake
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.service import between, echo
from readback.probe.service import readback as readback_steps
from readback.probe.service.endpoint import EventStream
from readback.probe.transport import opening
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.connecting import DeadlineSocket
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import (
    MAX_REQUESTS,
    ProbeResponse,
    RequestBudget,
    Timing,
)
from readback.probe.transport.handshake import Handshake
from readback.probe.transport.route import Route
from tests.probe.broken_servers import socket_server
from tests.probe.forgetful_gateway import ForgetfulGateway, reset
from tests.probe.probing import found, probed
from tests.probe.provider import MODEL as CHAT_MODEL
from tests.probe.provider import provider
from tests.probe.relay import Request, RequestFilter, relay, running
from tests.probe.setups import ProbeInput, Resources, through_relay
from tests.probe.setups_between import IDLE, Match, cutting, larger_than

STEPS_OF_HALVING = 8
# All requests of a run but those of the search for a size and of the step "latency".
OTHER_REQUESTS = 22


def held_back(match: Match, numbers: set[int]) -> RequestFilter:
    """Hold these of the matching requests back until the client has given up.

    That is when the next request arrives: the clock of the test has no part in it.
    """
    seen: list[Event] = []

    def hold(request: Request) -> Request:
        if match(request):
            if seen:
                seen[-1].set()
            seen.append(given_up := Event())
            if len(seen) in numbers:
                given_up.wait(60)
        return request

    return hold


# The size that passes.


class Network:
    """Loses what is too large, and is late with some of the other answers."""

    def __init__(self, limit: int, loses_requests: bool, late: set[int]) -> None:
        self._limit = limit
        self._loses_requests = loses_requests
        self._late = late
        self._halvings = 0
        self.requests = 0

    def answer(self, body: bytes, patience: float | None) -> ProbeResponse:
        self.requests += 1
        self._halvings += patience is not None
        is_late = patience is not None and self._halvings in self._late
        asked = json.loads(body)
        text = asked["messages"][0]["content"]
        headers, status = Message(), 200
        message = {"role": "assistant", "content": text}
        content: object = {
            "id": str(self.requests),
            "object": "chat.completion",
            "choices": [{"message": message}],
        }
        if asked["model"] != MODEL:
            headers["X-Error-Detail"], status = "not offered", 400
            content = {"error": {"code": "invalid_model"}}
        response = json.dumps(content, ensure_ascii=False).encode()
        size = len(body if self._loses_requests else response)
        if is_late or size > self._limit:
            raise ProbeError("http.silent", timeout="10 s")
        timing, size = Timing(0.01), len(response)
        return ProbeResponse("", status, headers, response, timing, 11, 0.0, size)


def search(network: Network) -> ProbeError:
    """Return the finding of the step that looks for the size."""

    class Client:
        def __init__(self, patience: float | None = None) -> None:
            self._patience = patience

        def request(self, *_, body: bytes, **__) -> ProbeResponse:
            return network.answer(body, self._patience)

        def __enter__(self) -> "Client":
            return self

        def __exit__(self, *_) -> None:
            pass

    context = ProbeContext("http://127.0.0.1:1/v1", Secret("sk-echo-x"))
    context.base_url = BaseUrl("http", "127.0.0.1", 1, "/v1")
    context.key = context.secret
    context.new_client = Client  # type: ignore[method-assign]
    context.client = Client()  # type: ignore[assignment]
    with pytest.raises(ProbeError) as caught:
        find_limit(context)
    return caught.value


def find_limit(context: ProbeContext) -> None:
    """Do what the runner does with the step of the largest text."""
    try:
        echo.check(context, echo.largest_text())
    except ProbeError as lost:
        echo.find_limit(context, lost)


def outcome(error: ProbeError) -> tuple[str, object]:
    return error.id, error.facts["what"]


@pytest.mark.parametrize(
    ("limit", "what", "id"),
    [
        (1340, "request bodies", "between.mtu"),
        (1340, "response bodies", "between.mtu"),
        (8250, "request bodies", "between.size_limit"),
        (200, "response bodies", "between.size_limit"),
    ],
)
def test_late_answers_at_any_two_steps_do_not_move_the_size(
    limit: int, what: str, id: str
) -> None:
    loses_requests = what == "request bodies"
    steps = range(1, STEPS_OF_HALVING + 4)  # Also when the halving is taken up again.
    for late in [(), *combinations(steps, 1), *combinations(steps, 2)]:
        network = Network(limit, loses_requests, set(late))
        error = search(network)
        assert outcome(error) == (id, what), late
        passes, fails = error.facts["passes"], error.facts["fails"]
        assert isinstance(passes, int) and isinstance(fails, int)
        assert 0 < fails - passes <= 32
        sent = [len(echo.request_body("x" * size)) for size in (passes, fails)]
        if loses_requests:
            assert sent[0] - 4 <= limit < sent[1]
        assert network.requests + OTHER_REQUESTS <= MAX_REQUESTS


def test_a_search_without_late_answers_needs_few_requests() -> None:
    network = Network(1340, loses_requests=True, late=set())
    search(network)
    # The largest text, a small one, the halving, and the confirmation.
    assert network.requests == 2 + STEPS_OF_HALVING + 1


@pytest.mark.parametrize("step", range(1, STEPS_OF_HALVING + 1))
def test_an_answer_that_is_held_back_does_not_move_the_size(
    step: int, resources: Resources
) -> None:
    too_large = larger_than(len(echo.request_body("x" * (MAX_CONTENT_BYTES - 20))))
    # The largest text and the smallest come before.
    hold = held_back(lambda request: request.method == "POST", {step + 2})
    cut = cutting(too_large)
    arrange = through_relay(lambda request: cut(hold(request)))
    with arrange(resources) as given:
        context = ProbeContext(given.base_url, Secret(given.key))
        context.base_url = BaseUrl("http", *_place(given.base_url), "/v1")
        context.key, context.route = context.secret, Route(context.base_url)
        with context.new_client() as context.client, pytest.raises(ProbeError) as error:
            find_limit(context)
    assert error.value.id == "between.size_limit"
    assert error.value.facts["fails"] == MAX_CONTENT_BYTES
    assert error.value.facts["passes"] == MAX_CONTENT_BYTES - 32


def _place(url: str) -> tuple[str, int]:
    port = url.rpartition(":")[2].partition("/")[0]
    return "127.0.0.1", int(port)


def test_a_search_that_took_many_requests_leaves_the_latency_fewer_samples(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readback_steps, "_MEASURE_SECONDS", 60.0)
    readback = resources.readback
    context = ProbeContext(readback.base_url, Secret(readback.api_key))
    context.base_url = BaseUrl("http", *_place(readback.base_url), "/v1")
    context.key, context.route = context.secret, Route(context.base_url)
    assert (
        readback_steps.check_latency(context).facts["samples"]
        == readback_steps.SAMPLES
        == 20
    )
    context.budget = RequestBudget(3)
    assert readback_steps.check_latency(context).facts["samples"] == 3
    with pytest.raises(ProbeError, match=r"skipped\.budget"):
        readback_steps.check_latency(context)


def test_one_fast_echo_shows_that_the_connection_is_not_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_up = [Timing(0.1, None, 0.4)] * 19 + [Timing(0.1, None, 0.1)]
    monkeypatch.setattr(readback_steps, "_measure", lambda _: held_up)
    context = ProbeContext("", Secret(""))
    assert readback_steps.check_latency(context).id == "latency.ok"
    monkeypatch.setattr(
        readback_steps, "_measure", lambda _: [Timing(0.1, None, 0.4)] * 20
    )
    assert readback_steps.check_latency(context).id == "latency.slow"


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
    with ProbeClient(Route(url), None, 60.0, budget, set(), {}, patience=0.5) as client:
        # Whether the answer is in time depends on the machine.
        try:
            client.request("/v1/probe")
        except ProbeError as error:
            assert error.id == "http.silent"
    assert opened == [60.0]


@contextmanager
def slow_gateway(resources: Resources, seconds: float) -> Iterator[str]:
    """Yield the address of a gateway that wakes up slowly after a pause."""
    woken = []

    def wake_up(client: socket.socket) -> None:
        woken.append(client)
        time.sleep(seconds)
        port = _place(resources.readback.base_url)[1]
        with socket.create_connection(("127.0.0.1", port)) as upstream:
            upstream.sendall(client.recv(65_536))
            client.sendall(upstream.recv(65_536))

    with relay(resources.readback.base_url) as inner:
        server = ForgetfulGateway(inner.server_port, IDLE / 2, wake_up)
        with running(server):
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    assert woken


def test_an_idle_connection_that_wakes_up_slowly_is_not_dead(
    resources: Resources,
) -> None:
    with slow_gateway(resources, 2.5) as url:
        report = probed(ProbeInput(url, resources.readback.api_key, idle=IDLE))
    found(report, "between.idle_ok")


def test_a_service_that_closes_in_the_moment_of_a_request_is_not_blamed(
    resources: Resources,
) -> None:
    with relay(resources.readback.base_url) as inner:
        server = ForgetfulGateway(inner.server_port, IDLE / 2, None)

        def reset_once(client: socket.socket) -> None:
            server.seconds = 60.0
            reset(client)

        server.on_forgotten = reset_once
        with running(server):
            url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            report = probed(ProbeInput(url, resources.readback.api_key, idle=IDLE))
    found(report, "between.idle_ok")


# What is in between.


@pytest.mark.parametrize(
    ("match", "id"),
    [
        (lambda request: "Expect" in request.headers, "between.expect_ok"),
        (lambda request: "curl" in request.headers["User-Agent"], "between.programs"),
        (lambda request: "OpenAI" in request.headers["User-Agent"], "between.programs"),
    ],
    ids=["Expect", "curl", "openai"],
)
def test_a_request_that_is_answered_late_is_not_refused(
    match: Match, id: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(between, "_BRIEFLY", 0.3)
    arrange = through_relay(held_back(match, {1}))
    with arrange(resources) as given:
        report = probed(given, "latency")
    found(report, id.replace("programs", "programs_pass"))


# The name and the handshake.


def test_a_second_lookup_may_take_as_long_as_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = []

    def resolve(host: str, port: int, timeout: float) -> list[str]:
        limits.append(timeout)
        return ["192.168.1.1"]

    monkeypatch.setattr(dns, "resolve_within", resolve)
    route = Route(BaseUrl("https", "api.example.com", 443, "/v1"))
    diagnosis, _ = dns.check(route, timeout=7.0)
    assert diagnosis.id == "dns.answers_everything"
    assert limits == [7.0, 7.0]


def test_a_handshake_without_the_name_may_take_as_long_as_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = []

    def shake(_route, _trust, timeout: float, name: str | None) -> Handshake:
        limits.append(timeout)
        return Handshake(error=TimeoutError() if name else None)

    monkeypatch.setattr(failed_handshake, "shake", shake)
    context = ProbeContext("https://api.example.com/v1", Secret(""), timeout=7.0)
    context.base_url = BaseUrl("https", "api.example.com", 443, "/v1")
    context.route = Route(context.base_url)
    error = failed_handshake.explain_broken(context, Handshake(error=TimeoutError()))
    assert error.id == "tls.filtered_name"
    assert limits == [7.0, 7.0]


# A proxy that refuses.


def through_proxy(
    behave: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> ProbeReport:
    """Probe through a proxy that behaves so when it is asked for a tunnel."""
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

    found(through_proxy(behave, monkeypatch), "proxy.cannot_resolve")


def test_a_page_is_not_waited_for_once_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received = []

    def behave(client: socket.socket) -> None:
        if client.recv(65_536):
            client.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
            received.append(client.recv(1))  # Nothing: the other side closes.

    monkeypatch.setattr(
        DeadlineSocket, "_limit", lambda one: one._socket.settimeout(60)
    )
    found(through_proxy(behave, monkeypatch), "proxy.cannot_connect")
    assert set(received) == {b""}


# A stream.


def stream_id(**behavior: object) -> str:
    with provider(key=None, **behavior) as server:
        report = probed(ProbeInput(server.base_url, "", chat=CHAT_MODEL))
    ids = [one.diagnosis.id for one in report.results if one.step == "stream"]
    return ids[0]


@pytest.fixture
def _reads_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the probe up after each part that it reads, as on a busy machine."""

    def feed(self: EventStream, received: bytes, arrived: float) -> None:
        original(self, received, arrived)
        time.sleep(0.01)

    original = EventStream.feed
    monkeypatch.setattr(EventStream, "feed", feed)


@pytest.mark.usefixtures("_reads_slowly")
def test_a_stream_that_was_held_back_is_found_by_a_slow_reader() -> None:
    assert stream_id(pause=0.05, is_buffered=True) == "stream.together"


@pytest.mark.usefixtures("_reads_slowly")
def test_a_stream_that_arrives_in_parts_is_right_for_a_slow_reader() -> None:
    assert stream_id(pause=0.1) == "stream.ok"


def test_a_stream_that_is_read_late_was_not_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def readinto(self: DeadlineSocket, buffer: memoryview) -> int:
        time.sleep(0.3)
        return original(self, buffer)

    original = DeadlineSocket.readinto
    monkeypatch.setattr(DeadlineSocket, "readinto", readinto)
    assert stream_id(pause=0, is_buffered=True) == "stream.ok"
