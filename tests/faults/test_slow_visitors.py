"""Slow clients of the cabinet cost an honest visitor nothing."""

import select
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.faults.slow_clients import BEGINNINGS, slow_clients
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

PAGES = ("/", "/accounts/login/", "/accounts/signup/", "/docs/", "/healthz")
# A page takes about 10 ms. This is for a machine that is busy with other tests.
PAGE_SECONDS = 3.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CabinetServer]:
    with cabinet_server(tmp_path_factory.mktemp("slow"), {}) as running:
        yield running
        assert "Traceback" not in running.stderr


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_two_hundred_slow_clients_do_not_delay_a_visitor(
    server: CabinetServer, kind: str
) -> None:
    with slow_clients(Endpoint.of(server.url), kind):
        # The requests that the clients sent completely are answered first.
        wait_until(lambda: _visit(server, "/") < 1, "the server is not busy", 20)
        seconds = [_visit(server, page) for _ in range(2) for page in PAGES]

    assert max(seconds) < PAGE_SECONDS, seconds


def test_more_clients_than_a_worker_can_have_do_not_keep_a_visitor_out(
    server: CabinetServer,
) -> None:
    # More than the 800 connections of a worker; fewer than the 1,024 files that a
    # process may usually open.
    with slow_clients(Endpoint.of(server.url), "head", 900) as clients:
        assert _visit(server, "/") < PAGE_SECONDS
        # Those that were slow for the longest made room.
        for client in clients[:50]:
            readable, _, _ = select.select([client], [], [], 10)
            assert readable


def _visit(server: CabinetServer, page: str) -> float:
    begun = time.monotonic()
    assert httpx.get(f"{server.url}{page}", timeout=20).status_code == 200
    return time.monotonic() - begun
