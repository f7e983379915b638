"""The pytest plugin: a Readback server for the tests of other projects.

pytest loads this module in every run of every project that has Readback installed, so
it imports nothing until a test asks for a fixture. docs/testing.md explains the
fixtures.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readback.pytest_plugin.server import ReadbackServer
    from readback.pytest_plugin.shared import SharedServer

_SHARED = pytest.StashKey["SharedServer"]()


@pytest.fixture(scope="session")
def readback_settings() -> Mapping[str, str]:
    """Settings of the server; a conftest.py can define this fixture instead."""
    return {}


@pytest.fixture(scope="session")
def readback_server(
    request: pytest.FixtureRequest, readback_settings: Mapping[str, str]
) -> ReadbackServer:
    """The Readback server of this run, with a key that only this process uses."""
    from readback.pytest_plugin.shared import ServerFailed

    try:
        return _shared(request.config).server(readback_settings)
    except ServerFailed as error:
        reason = str(error)
    # Not above: pytest would print both errors.
    pytest.fail(reason, pytrace=False)


@pytest.fixture
def readback(readback_server: ReadbackServer) -> ReadbackServer:
    """The Readback server of this run, with a key that only this test uses."""
    return readback_server.with_new_key()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Keep the server until the run ends, whichever of its workers started it.

    pytest-xdist calls this in the process that controls the workers.
    """
    _shared(node.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    shared = config.stash.get(_SHARED, None)
    if shared is not None:
        shared.leave(is_last=not _is_worker(config))


def _shared(config: pytest.Config) -> SharedServer:
    if _SHARED not in config.stash:
        from readback.pytest_plugin.shared import SharedServer

        # The fixture tmp_path_factory, which a hook cannot ask for.
        base: Path = getattr(config, "_tmp_path_factory").getbasetemp()  # noqa: B009
        # A folder that all processes of the run share, and nobody else can read.
        common = base.parent if _is_worker(config) else base
        config.stash[_SHARED] = SharedServer(common / "readback")
    return config.stash[_SHARED]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
