"""The workers of a running server, and connections that reach each of them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from tests.support.load import eventually
from tests.support.server import Server
from tests.support.wire import Connection, Endpoint


def workers(server: Server) -> list[int]:
    """The processes that answer for the API: the children of gunicorn's master."""
    planes = psutil.Process(server.pid).children()
    api = max(planes, key=lambda process: process.create_time())
    return [child.pid for child in api.children()]


@contextmanager
def one_connection_each(server: Server) -> Iterator[list[Connection]]:
    """Open connections until every worker has taken one; keep one of each."""
    endpoint = Endpoint.of(server.base_url)
    # The server is ready when one of them is.
    number = int(server.environment["READBACK_WORKERS"])
    eventually(lambda: len(workers(server)) == number, "all workers run")
    with ExitStack() as stack:
        found: dict[int, Connection] = {}
        for _ in range(200):
            connection = stack.enter_context(endpoint.connect())
            connection.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.read_answer().status == 404
            found.setdefault(_holder(server, connection), connection)
            if len(found) == number:
                yield list(found.values())
                return
        raise AssertionError("one worker takes all connections")


def _holder(server: Server, connection: Connection) -> int:
    for pid in workers(server):
        for each in psutil.Process(pid).net_connections("tcp"):
            if each.raddr and each.raddr.port == connection.local_port:
                return pid
    raise AssertionError("no worker has the connection")
