"""One server for all clients that run in the same test process."""

from collections.abc import Iterator

import pytest

from tests.support.server import UNLIMITED, Server, ephemeral_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ephemeral_server(tmp_path_factory.mktemp("server"), UNLIMITED) as server:
        yield server
