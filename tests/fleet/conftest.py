"""One fleet for each module; every test begins with all of it running."""

from collections.abc import Iterator

import pytest

from tests.fleet import balancer, fleet
from tests.support import namespaces
from tests.support.programs import needed_program


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fleet.Fleet]:
    needed_program("haproxy")
    if reason := namespaces.why_not():
        pytest.skip(reason)
    with fleet.fleet(tmp_path_factory.mktemp("fleet")) as started:
        yield started


@pytest.fixture
def site(running: fleet.Fleet) -> Iterator[fleet.Fleet]:
    """Send the test's requests from the balancer's machine."""
    with running.network.on(balancer.MACHINE):
        running.start_all()
        running.wait_until_healthy()
        yield running
