"""Reloads and stops while clients send requests, some with a long round trip."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from tests.support.api import Api, assert_echo, draft
from tests.support.authority import Authority
from tests.support.metrics import is_ready
from tests.support.processes import api_workers, has_ended, reload, worker_pids
from tests.support.server import (
    LASTING,
    UNLIMITED,
    Server,
    api_server,
    ephemeral_server,
)
from tests.support.traffic import echoes, pages, traffic
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint, exchange, request

# The test ends the slow request; no timeout may end it earlier.
PATIENT = LASTING | {"READBACK_BODY_TIMEOUT": "300", "READBACK_STOP_TIMEOUT": "300"}


@contextmanager
def reloading(folder: Path) -> Iterator[tuple[Server, Connection, bytes]]:
    """Reload a server with one worker; yield a connection that keeps the old one busy.

    The old worker no longer listens, and waits for the bytes that are left.
    """
    with api_server(folder, PATIENT) as server:
        api = Api.of(server)
        raw, before = api.chat_bytes(draft("slow")), worker_pids(server)
        with api.endpoint.connect() as slow:
            slow.send(raw[:-1])
            [worker] = api_workers(server)
            wait_until(
                lambda: any(each.raddr for each in worker.net_connections("tcp")),
                "the worker has the connection",
            )
            os.kill(server.pid, signal.SIGHUP)
            wait_until(
                lambda: worker_pids(server) and not worker_pids(server) & before,
                "the new worker listens, and the old one does not",
            )
            yield server, slow, raw[-1:]


def test_a_worker_that_dies_during_a_reload_is_replaced(tmp_path: Path) -> None:
    with reloading(tmp_path) as (server, slow, rest):
        [victim] = api_workers(server)
        victim.kill()
        wait_until(lambda: worker_pids(server) - {victim.pid}, "a new worker listens")
        assert_echo(Api.of(server).chat(draft("x")), "x")
        slow.send(rest)
        assert_echo(slow.read_answer(), "slow")


def test_a_stop_during_a_reload_acts_at_once(tmp_path: Path) -> None:
    with reloading(tmp_path) as (server, slow, rest):
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: not api_workers(server), "no worker listens")
        assert not has_ended(server.pid)
        slow.send(rest)
        assert_echo(slow.read_answer(), "slow")
        wait_until(lambda: has_ended(server.pid), "the server has ended")


def test_however_many_reloads_there_are_two_generations_of_workers(
    tmp_path: Path,
) -> None:
    with reloading(tmp_path) as (server, slow, rest):
        manager, current = psutil.Process(server.pid), worker_pids(server)
        generations = []

        def reload_again() -> bool:
            manager.send_signal(signal.SIGHUP)
            generations.append(len(manager.children()))
            return len(generations) == 20

        wait_until(reload_again, "20 reloads are requested")
        assert set(generations) == {2}
        assert worker_pids(server) == current
        # Until the old worker has ended, any number of reload requests count as one.
        slow.send(rest)
        assert_echo(slow.read_answer(), "slow")
        wait_until(
            lambda: worker_pids(server) and not worker_pids(server) & current,
            "the worker is replaced once more",
        )
        assert len(manager.children()) <= 2


def test_a_reload_whose_workers_cannot_start_leaves_the_old_ones(
    tmp_path: Path,
) -> None:
    certificate = Authority(tmp_path / "authority").issue("localhost")
    settings = {
        "READBACK_TLS_CERTIFICATE": str(certificate),
        "READBACK_TLS_KEY": str(certificate),
    }
    with api_server(tmp_path, UNLIMITED | settings) as server:
        valid, log = certificate.read_bytes(), server.folder / "stderr"
        [old] = api_workers(server)
        certificate.write_bytes(b"none")
        os.kill(server.pid, signal.SIGHUP)
        wait_until(
            lambda: log.read_text().count("exited with code 3; another starts") >= 2,
            "new workers cannot start",
        )
        assert old.is_running()
        assert not has_ended(old.pid)
        assert is_ready(server.ops_url)
        certificate.write_bytes(valid)
        wait_until(lambda: has_ended(old.pid), "the old worker is replaced")
        assert is_ready(server.ops_url)


ROUND_TRIPS = (0, 0.1, 0.4, 0.8)
CLIENTS = 20  # for each round trip
KEEPING = 15  # of them keep their connections
RELOADS = 2
# A connection looks idle during the long pause; with the short one, its client mostly
# waits for an answer.
PAUSES = (0.1, 1.0)
VISITORS = {"clients": 8, "pauses": (0.1, 0.2, 0.5, 1.0)}
TWO_WORKERS = {"READBACK_WORKERS": "2", "READBACK_CABINET_WORKERS": "2"}


def test_reloads_and_a_stop_lose_no_request_and_no_visit(tmp_path: Path) -> None:
    with ephemeral_server(tmp_path, LASTING | TWO_WORKERS) as server:
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        api, cabinet = Api.of(server), Endpoint.of(server.cabinet_url)
        with ExitStack() as stack:
            seen = [
                stack.enter_context(
                    traffic(
                        api.endpoint,
                        echoes(api.endpoint, [api.key]),
                        clients=CLIENTS,
                        pauses=PAUSES,
                        round_trip=round_trip,
                        until_refused=True,
                    )
                )
                for round_trip in ROUND_TRIPS
            ]
            visits = stack.enter_context(
                traffic(cabinet, pages(cabinet), **VISITORS, until_refused=True)
            )
            checks = pages(cabinet, "/healthz", "HEAD")
            with traffic(cabinet, checks, **VISITORS) as checked:
                for number in range(RELOADS + 1):
                    if number:
                        reload(server)
                    for each in seen:
                        each.wait_for(2 * CLIENTS)
                    visits.wait_for(50)
            assert [each.refused for each in (*seen, visits)] == [0] * 5
            os.kill(server.pid, signal.SIGTERM)
            check = request("GET", "/healthz", [("Host", cabinet.authority)])
            wait_until(
                lambda: exchange(cabinet, check).status == 503,
                "the health check of the cabinet fails before it stops",
            )
            wait_until(lambda: has_ended(server.pid), "the server has ended")
            wait_until(
                lambda: (
                    all(each.refused == CLIENTS for each in seen)
                    and visits.refused == VISITORS["clients"]
                ),
                "all clients are refused",
            )
    assert [each.problems for each in (*seen, visits, checked)] == [{}] * 6
    assert all(each.announced >= RELOADS * KEEPING for each in seen)
    assert "Traceback" not in (tmp_path / "stderr").read_text()
