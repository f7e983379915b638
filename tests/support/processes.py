"""The processes of a running server, as seen from outside."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint


def api_workers(server: Server) -> list[psutil.Process]:
    """Return the processes that answer at the API's port, without their master."""
    port = Endpoint.of(server.base_url).port
    parents = {
        process: parent
        for process in psutil.Process(server.pid).children(recursive=True)
        if (parent := _parent_if_listening(process, port)) is not None
    }
    listening = {process.pid for process in parents}
    return [process for process, parent in parents.items() if parent in listening]


def worker_pids(server: Server) -> set[int]:
    return {worker.pid for worker in api_workers(server)}


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@contextmanager
def one_connection_per_worker(server: Server) -> Iterator[list[Connection]]:
    """Open connections until every worker has accepted one; keep one of each."""
    endpoint = Endpoint.of(server.base_url)
    # The server is ready as soon as one worker is.
    number = int(server.environment["READBACK_WORKERS"])
    wait_until(lambda: len(api_workers(server)) == number, "all workers run")
    with ExitStack() as stack:
        found: dict[int, Connection] = {}
        for _ in range(200):
            connection = stack.enter_context(endpoint.connect())
            connection.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.read_answer().status == 404
            found.setdefault(_worker_of(server, connection), connection)
            if len(found) == number:
                yield list(found.values())
                return
        raise AssertionError("one worker accepts all connections")


def _worker_of(server: Server, connection: Connection) -> int:
    for worker in api_workers(server):
        for each in worker.net_connections("tcp"):
            if each.raddr and each.raddr.port == connection.local_port:
                return worker.pid
    raise AssertionError("no worker has the connection")


def _parent_if_listening(process: psutil.Process, port: int) -> int | None:
    """Return the parent's pid if the process listens on the port."""
    try:
        listens = any(
            connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            for connection in process.net_connections("tcp")
        )
        return process.ppid() if listens else None
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
