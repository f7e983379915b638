"""Slow clients of the cabinet cost an honest visitor nothing."""

import select
import socket
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from tests.faults.slow_clients import BEGINNINGS, slow_clients
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.waiting import PATIENCE
from tests.support.wire import Endpoint

PAGES = ("/", "/accounts/login/", "/accounts/signup/", "/docs/", "/healthz")
# A page takes about 10 ms, so this is for a machine that is busy with other tests.
PAGE_SECONDS = 3.0
# So that the server ends no slow client before the visitor has seen the pages, however
# busy the machine is. A visitor who had to wait for the clients would wait as long.
TIMEOUTS = {
    f"READBACK_{name}_TIMEOUT": "600" for name in ("HEAD", "BODY", "IDLE", "DRAIN")
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CabinetServer]:
    with cabinet_server(tmp_path_factory.mktemp("slow"), TIMEOUTS) as running:
        yield running
        assert "Traceback" not in running.stderr


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_two_hundred_slow_clients_do_not_delay_a_visitor(
    server: CabinetServer, kind: str
) -> None:
    with slow_clients(Endpoint.of(server.url), kind) as clients:
        seconds = sorted(_visit(server, page) for _ in range(2) for page in PAGES)
        assert not any(map(_is_closed, clients))
    # The requests that the clients sent completely are answered before the first page.
    assert seconds[len(seconds) // 2] < PAGE_SECONDS, seconds


def test_more_clients_than_a_worker_can_have_do_not_keep_a_visitor_out(
    server: CabinetServer,
) -> None:
    # More than the 800 connections of a worker; fewer than the 1,024 files that a
    # process may usually open.
    with slow_clients(Endpoint.of(server.url), "head", 900) as clients:
        _visit(server, "/")
        # Those that were slow for the longest made room, and the others stay.
        for client in clients[:50]:
            readable, _, _ = select.select([client], [], [], PATIENCE)
            assert readable
        assert not any(map(_is_closed, clients[-50:]))


def _visit(server: CabinetServer, page: str) -> float:
    """Return how many seconds the page took."""
    begun = time.monotonic()
    with urlopen(f"{server.url}{page}", timeout=PATIENCE) as answer:
        assert answer.status == 200
    return time.monotonic() - begun


def _is_closed(client: socket.socket) -> bool:
    """Return whether the server has closed this connection."""
    client.setblocking(False)
    try:
        return client.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        client.setblocking(True)
