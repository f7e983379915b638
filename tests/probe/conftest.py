"""Fixtures for all tests of the probe: a Readback server, keys and certificates."""

from pathlib import Path

import pytest

from readback.probe.connection import stores, tcp
from tests.probe import resources as setup
from tests.probe.setups import Resources
from tests.support.server import Server


@pytest.fixture(scope="session")
def readback(tmp_path_factory: pytest.TempPathFactory):
    with setup.readback_server(tmp_path_factory.mktemp("readback")) as server:
        yield server


@pytest.fixture(scope="session")
def resources(readback: Server, tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return setup.made_in(tmp_path_factory.mktemp("authorities"), readback)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(autouse=True)
def _own_root(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    """Hide the files that mark a container, which would change the probe's results."""
    monkeypatch.setattr(tcp, "ROOT", empty)


@pytest.fixture(autouse=True)
def _few_public_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores.certifi, "contents", lambda: setup.FEW_CERTIFICATES)
