"""The listeners and the server of the wire tests."""

from collections.abc import Iterator

import pytest

from tests.support.api import Api
from tests.support.listener import Listener, listening
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.wire import Endpoint


@pytest.fixture(scope="session")
def echo_listener() -> Iterator[Listener]:
    with listening() as listener:
        yield listener


@pytest.fixture(scope="session")
def echo(echo_listener: Listener) -> Endpoint:
    """The endpoint of the echo server that most tests share."""
    return echo_listener.endpoint


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The whole product in its own process, with one key and no rate limit for keys."""
    with ephemeral_server(tmp_path_factory.mktemp("server"), UNLIMITED) as server:
        yield server


@pytest.fixture(scope="session")
def api(server: Server) -> Api:
    return Api.of(server)
