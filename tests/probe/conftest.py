"""Fixtures: one Readback server for all tests of the probe, keys and certificates."""

import signal
from collections.abc import Iterator
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
    """A folder with nothing in it."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    """Remove what on this machine would change the probe's results."""
    monkeypatch.setattr(tcp, "ROOT", empty)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))
    monkeypatch.setenv("GSETTINGS_BACKEND", "memory")
    for name in setup.VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """Let Ctrl-C have its usual effect, here and in the processes that tests start.

    A shell starts programs in the background with SIGINT ignored, and they pass that
    on. The probe respects it, as every program should.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _few_public_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each run the 40 ms in which the whole list is loaded."""
    monkeypatch.setattr(stores.certifi, "contents", lambda: setup.FEW_CERTIFICATES)
