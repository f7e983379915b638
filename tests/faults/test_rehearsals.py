"""Rehearsal keys with several workers, and during stops, reloads and revocations."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from math import inf
from pathlib import Path

import pytest

from readback.http.timing import SAMPLED
from tests.support.api import CHAT, Api, assert_echo, assert_refused, draft
from tests.support.metrics import metrics, requests_by_outcome, requests_by_time
from tests.support.processes import has_ended, one_connection_per_worker, reload
from tests.support.server import UNLIMITED, Server, api_server
from tests.support.waiting import wait_until
from tests.support.wire import Connection, request

LONG = "wait30"
AT_ONCE = 10  # seconds: far less than LONG, far more than an answer takes
MAX_WAITING = 16


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with api_server(tmp_path, UNLIMITED) as server:
        yield server


def rehearsing(server: Server, pattern: str) -> Api:
    return Api.of(server).with_key(server.new_key(pattern))


def waiting(stack: ExitStack, api: Api, number: int = 1) -> list[Connection]:
    """Send requests that wait; return once the server has read them."""
    asked = [stack.enter_context(api.endpoint.connect()) for _ in range(number)]
    for connection in asked:
        connection.send(api.chat_bytes(draft("x")))
        # The only worker answers this after it has read what arrived before.
        assert api.ask("GET", "/v1/nothing").status == 404
    return asked


def stop(server: Server) -> None:
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_two_workers_take_each_step_exactly_once(tmp_path: Path) -> None:
    def ask(connection: Connection, requests: int) -> Counter[int]:
        statuses = Counter[int]()
        for _ in range(requests):
            connection.send(raw)
            statuses[connection.read_answer().status] += 1
        return statuses

    with (
        api_server(tmp_path, UNLIMITED | {"READBACK_WORKERS": "2"}) as server,
        one_connection_per_worker(server) as connections,
        ThreadPoolExecutor(2) as pool,
    ):
        alice = rehearsing(server, "429 429 503 ok 500 ok 429")
        raw = alice.chat_bytes(draft("x"))
        # Together, the workers go through the seven steps exactly 40 times, although
        # neither number of requests is a multiple of seven.
        one, other = pool.map(ask, connections, (143, 137))
    assert one + other == {429: 120, 503: 40, 500: 40, 200: 80}


def test_a_waiting_request_of_a_revoked_key_is_refused(server: Server) -> None:
    alice = rehearsing(server, "wait3")
    with ExitStack() as stack:
        asked = waiting(stack, alice, 2)
        server.revoke_key(alice.key)
        for connection in asked:
            assert_refused(connection.read_answer(), "invalid_key")


@pytest.mark.parametrize("end", [stop, reload])
def test_a_stop_and_a_reload_answer_what_waits(
    server: Server, end: Callable[[Server], None]
) -> None:
    alice = rehearsing(server, LONG)
    with ExitStack() as stack:
        asked = waiting(stack, alice, 3)
        begun = time.monotonic()
        end(server)
        for connection in asked:
            assert_echo(connection.read_answer(), "x")
        assert time.monotonic() - begun < AT_ONCE


def test_at_most_sixteen_requests_of_a_key_wait_in_a_worker(server: Server) -> None:
    alice, bob = rehearsing(server, LONG), rehearsing(server, LONG)
    with ExitStack() as stack:
        asked = waiting(stack, alice, MAX_WAITING)
        begun = time.monotonic()
        for _ in range(3):
            assert_echo(alice.chat(draft("y")), "y")
        assert time.monotonic() - begun < AT_ONCE
        # Nothing else is affected: neither another rehearsal, nor another key.
        asked += waiting(stack, bob)
        assert_echo(Api.of(server).chat(draft("z")), "z")
        assert not any(connection.has_bytes() for connection in asked)


def test_clients_that_hang_up_leave_nothing_behind(server: Server) -> None:
    alice = rehearsing(server, "wait2")
    with ExitStack() as stack:
        waiting(stack, alice, MAX_WAITING)
    # A client may have closed only its sending half, so these requests are answered.
    counted = {("chat", ""): MAX_WAITING}
    wait_until(
        lambda: server.database.usage(alice.key).items() >= counted.items(),
        "all are answered",
    )
    wait_until(
        lambda: metrics(server.ops_url)["open_connections"] == 0, "all are closed"
    )
    begun = time.monotonic()
    assert_echo(alice.chat(draft("x")), "x")
    assert time.monotonic() - begun >= 2
    assert "internal error" not in (server.folder / "stderr").read_text()


def test_a_hundred_rehearsed_errors_are_no_errors_of_ours(server: Server) -> None:
    alice = rehearsing(server, "500")
    raw = request("POST", CHAT, [*alice.usual_fields, ("Content-Length", "0")])
    with alice.endpoint.connect() as connection:
        for _ in range(100):
            connection.send(raw)
            assert connection.read_answer().status == 500
    counted = ("chat", "rehearsed")
    wait_until(
        lambda: server.database.usage(alice.key).get(counted) == 100, "they are counted"
    )
    assert requests_by_outcome(server.ops_url)[counted] == 100
    [(status, code, accepted, detail)] = set(
        server.database.journal(alice.key, "status, code, accepted, detail")
    )
    assert (status, code, bool(accepted)) == (500, "rehearsed", False)
    assert detail == "Rehearsed: step 1 of 1 of this key's pattern."
    counts = requests_by_outcome(server.ops_url)
    assert not any(code == "internal_error" for _, code in counts)
    assert (server.folder / "stderr").read_text().count("internal error") == 0


def test_what_a_rehearsal_key_asked_for_is_not_measured(server: Server) -> None:
    def ask(api: Api) -> None:
        with api.endpoint.connect() as connection:
            for _ in range(2 * SAMPLED):  # at least one of them would be measured
                connection.send(api.chat_bytes(draft("x")))
                connection.read_answer()

    ask(rehearsing(server, "500"))
    assert requests_by_time(server.ops_url)[inf] == 0
    ask(Api.of(server))
    assert requests_by_time(server.ops_url)[inf] > 0
