"""The processes of a running server, looked at from outside."""

import time
from collections.abc import Callable

import psutil

from tests.support.server import Server
from tests.support.wire import Endpoint


def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def api_workers(server: Server) -> list[psutil.Process]:
    """The processes that answer at the API's port: not the one that forked them."""
    port = Endpoint.of(server.base_url).port
    listening = {
        process.pid: process
        for process in psutil.Process(server.pid).children(recursive=True)
        if _listens(process, port)
    }
    return [p for p in listening.values() if p.ppid() in listening]


def _listens(process: psutil.Process, port: int) -> bool:
    try:
        connections = process.net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in connections
    )


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
