"""A listening socket that turns new clients away keeps those in its queue."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.programs import needed_address
from tests.support.waiting import PATIENCE

from readback.processes.listening import let_in, turn_away

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux's minimum hop limit"
)


HOSTS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


@pytest.fixture(params=[*HOSTS, socket.AF_UNIX], ids=lambda family: family.name)
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    host = HOSTS.get(request.param)
    address = (needed_address(host), 0) if host else str(tmp_path / "socket")
    with socket.socket(request.param) as listener:
        listener.bind(address)
        listener.listen(10)
        listener.settimeout(PATIENCE)
        yield listener


def connect(listener: socket.socket, timeout: float = PATIENCE) -> socket.socket:
    client = socket.socket(listener.family)
    client.settimeout(timeout)
    try:
        client.connect(listener.getsockname())
    except OSError:
        client.close()
        raise
    return client


def test_a_queued_connection_is_accepted_and_a_new_one_is_turned_away(
    listener: socket.socket,
) -> None:
    with connect(listener) as queued:
        queued.sendall(b"request")
        turn_away(listener)
        with pytest.raises((TimeoutError, ConnectionRefusedError)):
            connect(listener, timeout=0.3)
        accepted, _ = listener.accept()
        with accepted:
            listener.close()
            assert accepted.recv(100) == b"request"
            accepted.sendall(b"answer")
            assert queued.recv(100) == b"answer"


@pytest.mark.parametrize("listener", HOSTS, indirect=True, ids=HOSTS.values())
def test_a_handshake_that_is_under_way_is_completed(listener: socket.socket) -> None:
    # The kernel waits for the first bytes before it completes the handshake.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)
    with connect(listener) as client:
        turn_away(listener)
        client.sendall(b"first ")
        accepted, _ = listener.accept()
        with accepted:
            client.sendall(b"second")
            let_in()
            accepted.settimeout(PATIENCE)
            assert accepted.recv(6, socket.MSG_WAITALL) == b"first "
            assert accepted.recv(6, socket.MSG_WAITALL) == b"second"
