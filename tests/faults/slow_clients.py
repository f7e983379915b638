"""Two hundred clients that keep a server waiting, each in one of four ways."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from tests.support.waiting import PATIENCE
from tests.support.wire import Endpoint

CLIENTS = 200
_LARGE_FILE = "/static/admin/js/vendor/xregexp/xregexp.js"


def _request(line: str, rest: str) -> bytes:
    return f"{line} HTTP/1.1\r\nHost: localhost\r\n{rest}".encode()


# What each client sends at first. After that it sends one byte at a time, except that
# an idle client sends nothing and a slow reader never reads.
BEGINNINGS = {
    "head": _request("GET /", "X-Slow: "),
    "body": _request("POST /accounts/login/", "Content-Length: 9999\r\n\r\n"),
    "idle": _request("GET /address.json", "\r\n"),
    # More than the kernel takes from the server for a client that does not read.
    "reader": _request(f"GET {_LARGE_FILE}", "\r\n") * 20,
}
_DRIPPING = ("head", "body")


@contextmanager
def slow_clients(
    endpoint: Endpoint, kind: str, number: int = CLIENTS
) -> Iterator[list[socket.socket]]:
    """Connect these clients, and let them be slow until the end of the block."""
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
    # So that the server cannot hand a whole answer to the kernel.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    # As on a network. Loopback has segments of 64 KB, for which the kernel takes over
    # 2 MB from the server: a dozen answers of the large file for each client.
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    client.settimeout(PATIENCE)
    client.connect((endpoint.host, endpoint.port))
    return client


def _drip(clients: list[socket.socket], stop: threading.Event) -> None:
    while not stop.wait(0.1):
        for client in clients:
            with suppress(OSError):
                client.send(b"x")
