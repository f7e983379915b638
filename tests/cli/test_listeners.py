"""How many sockets the command opens for an address, and for whom it is in use."""

import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from readback import config
from readback.cli import listeners
from readback.setting_values import Bind

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere, all workers share one socket"
)


@contextmanager
def opened(binds: str, workers: int) -> Iterator[list[socket.socket]]:
    """Open the sockets of the API, as `readback serve api` does."""
    settings = config.read(
        {
            "READBACK_API_BIND": binds,
            "READBACK_OPS_BIND": "127.0.0.1:0",
            "READBACK_WORKERS": str(workers),
        }
    )
    api, ops = listeners.open_for_api(settings)
    try:
        yield api
    finally:
        for listener in (*api, ops):
            listener.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_each_worker_has_a_socket_and_a_second_server_has_none(host: str) -> None:
    with opened(f"{host}:0", workers=3) as api:
        [bind] = {listeners.bind_of(listener) for listener in api}
        assert len(api) == 3
        # A second server begins with this, and so does `readback doctor`.
        with pytest.raises(OSError, match="in use"):
            listeners.check_can_listen(bind)
    listeners.check_can_listen(bind)


def test_one_worker_and_a_unix_socket_need_one_socket_each(tmp_path) -> None:
    with opened("127.0.0.1:0", workers=1) as api:
        assert len(api) == 1
    with opened(f"unix:{tmp_path}/api.sock,127.0.0.1:0", workers=2) as api:
        families = [listener.family for listener in api]
        assert families == [socket.AF_UNIX, socket.AF_INET, socket.AF_INET]


def test_if_no_more_sockets_can_be_opened_the_workers_share_one() -> None:
    bind = Bind("127.0.0.1", 0)
    with listeners.listen(bind) as first:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with first.dup() as spare:
            last = spare.fileno()
        # One more can be opened, and then no more.
        resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, hard))
        try:
            assert listeners.open_beside(first, bind, 2) == []
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with first.dup() as spare:
            assert spare.fileno() == last  # none was left open
