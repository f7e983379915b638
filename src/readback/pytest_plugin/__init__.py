"""The pytest plugin: a Readback server for the tests of other projects.

pytest loads this module in every run of every project that has Readback installed, so
it imports nothing until a test uses a fixture. docs/testing.md explains the fixtures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from readback.pytest_plugin.server import ReadbackServer


@pytest.fixture(scope="session")
def readback_settings() -> Mapping[str, str]:
    """Settings of the server; override this fixture in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def readback_server(readback_settings: Mapping[str, str]) -> Iterator[ReadbackServer]:
    """The Readback server of this process, with a key."""
    from readback.pytest_plugin.server import ServerFailed, running

    try:
        with running(readback_settings) as server:
            yield server
            return
    except ServerFailed as error:
        reason = str(error)
    # Not in the `except` block, because pytest would print both errors.
    pytest.fail(reason, pytrace=False)


@pytest.fixture
def readback(readback_server: ReadbackServer) -> ReadbackServer:
    """The Readback server of this process, with a key that only this test uses."""
    return readback_server.with_new_key()


@pytest.fixture
def readback_rehearsal(
    readback_server: ReadbackServer,
) -> Callable[..., ReadbackServer]:
    """The server with a new rehearsal key, as in readback_rehearsal("429", "ok")."""

    def with_steps(*steps: str) -> ReadbackServer:
        return readback_server.with_new_key(rehearse=" ".join(steps))

    return with_steps
