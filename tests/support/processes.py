"""A running server's processes, as seen from outside."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint


def api_workers(server: Server) -> list[psutil.Process]:
    """Return the processes that answer at the API's port, without their manager."""
    listener = _listener(Endpoint.of(server.base_url).port)
    children = psutil.Process(server.pid).children()
    return [each for each in children if listener in _open_files(each.pid)]


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
def suspended(*processes: psutil.Process) -> Iterator[None]:
    try:
        for process in processes:
            process.suspend()
        for process in processes:
            wait_until(
                lambda each=process: each.status() == psutil.STATUS_STOPPED,
                "it is suspended",
            )
        yield
    finally:
        for process in processes:
            # A test may have killed the process.
            with suppress(psutil.NoSuchProcess):
                process.resume()


@contextmanager
def one_connection_per_worker(server: Server) -> Iterator[list[Connection]]:
    """Open a connection to each worker, once all of them run."""
    # The server is ready as soon as one worker is.
    number = int(server.environment["READBACK_WORKERS"])
    wait_until(lambda: len(api_workers(server)) == number, "all workers run")
    workers = api_workers(server)
    with ExitStack() as stack:
        connections = []
        for worker in workers:
            with suspended(*(each for each in workers if each != worker)):
                connection = stack.enter_context(server.endpoint.connect())
                connection.send(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert connection.read_answer().status == 404
            connections.append(connection)
        yield connections


def _listener(port: int) -> str:
    """Return the socket that listens on a port of 127.0.0.1, as `_open_files` names it.

    The kernel lists listening sockets first. psutil reads the whole table for each
    process, which is slow while thousands of connections are closing.
    """
    with Path("/proc/net/tcp").open() as table:
        for row in map(str.split, table):
            if row[1].endswith(f":{port:04X}") and row[3] == "0A":
                return f"socket:[{row[9]}]"
    return ""


def _open_files(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):  # it has ended
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed in the meantime
                found.add(os.readlink(entry))
    return found
