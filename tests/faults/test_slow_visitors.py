"""Clients that are slow in any of four ways do not affect other visitors."""

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.request import urlopen

import psutil
import pytest

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint

PAGES = ("/", "/accounts/login/", "/accounts/signup/", "/docs/", "/healthz")
# A page takes about 10 ms; the rest allows for a busy machine.
PAGE_SECONDS = 3.0
# Long enough that no slow client is disconnected before the visitor has seen the pages.
# A visitor who had to wait for these clients would wait this long.
TIMEOUTS = {
    f"READBACK_{name}_TIMEOUT": "600" for name in ("HEAD", "BODY", "IDLE", "DRAIN")
}
CLIENTS = 200
_LARGE_FILE = "/static/admin/js/vendor/xregexp/xregexp.js"


def _request(line: str, rest: str) -> bytes:
    return f"{line} HTTP/1.1\r\nHost: localhost\r\n{rest}".encode()


# What each client sends first. Then `head` and `body` send single bytes, `idle` sends
# nothing, and `reader` never reads.
BEGINNINGS = {
    "head": _request("GET /", "X-Slow: "),
    "body": _request("POST /accounts/login/", "Content-Length: 9999\r\n\r\n"),
    "idle": _request("GET /address.json", "\r\n"),
    # The answers are more than the kernel buffers for a client that does not read.
    "reader": _request(f"GET {_LARGE_FILE}", "\r\n") * 20,
}
_DRIPPING = ("head", "body")


@contextmanager
def slow_clients(
    endpoint: Endpoint, kind: str, number: int = CLIENTS
) -> Iterator[list[socket.socket]]:
    """Connect clients that are slow until the end of the block."""
    stop = threading.Event()
    with ExitStack() as stack:
        clients = [stack.enter_context(_connect(endpoint)) for _ in range(number)]
        for client in clients:
            client.sendall(BEGINNINGS[kind])
        dripping = clients if kind in _DRIPPING else []
        thread = threading.Thread(target=_drip, args=(dripping, stop))
        thread.start()
        try:
            yield clients
        finally:
            stop.set()
            thread.join()


def _connect(endpoint: Endpoint) -> socket.socket:
    client = socket.socket()
    # Small, so that the server cannot hand a whole answer to the kernel.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    # The segment size of a real network. With that of loopback, 64 KB, the kernel would
    # buffer over 2 MB for each client.
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    client.settimeout(PATIENCE)
    client.connect((endpoint.host, endpoint.port))
    return client


def _drip(clients: list[socket.socket], stop: threading.Event) -> None:
    while not stop.wait(0.1):
        for client in clients:
            with suppress(OSError):
                client.send(b"x")


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
    # The median, because the complete requests of slow clients delay the first page.
    assert seconds[len(seconds) // 2] < PAGE_SECONDS, seconds


def test_more_clients_than_a_worker_can_have_do_not_keep_a_visitor_out(
    server: CabinetServer,
) -> None:
    # More than the 800 connections that a worker accepts, but fewer than the 1,024
    # files that a process may usually open.
    with slow_clients(Endpoint.of(server.url), "head", 900) as clients:
        _visit(server, "/")
        # The clients that have been slow the longest are disconnected; the others stay.
        for client in clients[:50]:
            readable, _, _ = select.select([client], [], [], PATIENCE)
            assert readable
        assert not any(map(_is_closed, clients[-50:]))


def test_forms_that_do_not_arrive_take_little_memory(server: CabinetServer) -> None:
    """The server drops the oldest incomplete forms to make room for new ones."""
    size = 250_000
    number = 300  # 75 MB in all
    _visit(server, "/")  # the first page loads code that stays in memory
    before = _private_memory(server)
    endpoint = Endpoint.of(server.url)
    form = _request("POST /accounts/login/", "Content-Length: 260000\r\n\r\n")
    with ExitStack() as stack:
        clients = [stack.enter_context(_connect(endpoint)) for _ in range(number)]
        for client in clients:
            with suppress(OSError):
                client.sendall(form + bytes(size))
        for client in clients[:50]:
            wait_until(lambda client=client: _is_closed(client), "it made room")
        assert not any(map(_is_closed, clients[-50:]))
        _visit(server, "/")
        assert _private_memory(server) - before < 64 << 20


def _private_memory(server: CabinetServer) -> int:
    """Return the private memory of a server's processes, in bytes."""
    parent = psutil.Process(server.pid)
    processes = [parent, *parent.children(recursive=True)]
    return sum(process.memory_full_info().uss for process in processes)


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
