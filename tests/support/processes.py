"""The processes of a running server, as seen from outside."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint


def api_workers(server: Server) -> list[psutil.Process]:
    """Return the processes that answer at the API's port, without their manager."""
    port = Endpoint.of(server.base_url).port
    processes = psutil.Process(server.pid).children()
    return [each for each in processes if _listens(each, port)]


def worker_pids(server: Server) -> set[int]:
    return {worker.pid for worker in api_workers(server)}


def reload(server: Server) -> None:
    """Reload the server, and wait until the same number of new workers are up."""
    before = worker_pids(server)
    os.kill(server.pid, signal.SIGHUP)
    wait_until(
        lambda: len(now := worker_pids(server)) == len(before) and not now & before,
        "all workers are replaced",
    )


def kill_all(pid: int) -> None:
    """Kill a server and its workers at once, without a chance to clean up."""
    manager = psutil.Process(pid)
    manager.suspend()  # otherwise it would replace them
    for process in (*manager.children(recursive=True), manager):
        process.kill()


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
    workers: list[psutil.Process] = []

    def all_run() -> bool:
        # Looking for them is slow, so it is not repeated for each connection.
        workers[:] = api_workers(server)
        return len(workers) == number

    wait_until(all_run, "all workers run")
    with ExitStack() as stack:
        found: dict[int, Connection] = {}
        for _ in range(200):
            connection = stack.enter_context(endpoint.connect())
            connection.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.read_answer().status == 404
            found.setdefault(_worker_of(workers, connection), connection)
            if len(found) == number:
                yield list(found.values())
                return
        raise AssertionError("one worker accepts all connections")


def _worker_of(workers: list[psutil.Process], connection: Connection) -> int:
    for worker in workers:
        for each in worker.net_connections("tcp"):
            if each.raddr and each.raddr.port == connection.local_port:
                return worker.pid
    raise AssertionError("no worker has the connection")


def _listens(process: psutil.Process, port: int) -> bool:
    try:
        return any(
            each.status == psutil.CONN_LISTEN and each.laddr.port == port
            for each in process.net_connections("tcp")
        )
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
