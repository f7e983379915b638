"""The pytest plugin: a Readback server for other projects' tests.

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
    """The server's settings; override this fixture in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def readback_server(readback_settings: Mapping[str, str]) -> Iterator[ReadbackServer]:
    """This process's Readback server, with a key."""
    from readback.pytest_plugin.server import running

    with running(readback_settings) as server:
        yield server


@pytest.fixture
def readback(readback_server: ReadbackServer) -> ReadbackServer:
    """This process's Readback server, with a key that only this test uses."""
    return readback_server.with_new_key()


@pytest.fixture
def readback_rehearsal(
    readback_server: ReadbackServer,
) -> Callable[..., ReadbackServer]:
    """A function that adds a rehearsal key: readback_rehearsal("429", "ok")."""

    def with_steps(*steps: str) -> ReadbackServer:
        return readback_server.with_new_key(rehearse=" ".join(steps))

    return with_steps
