"""Fixtures: one Readback server for all tests of the probe, keys and certificates."""

import time
from pathlib import Path

import httpx
import pytest

from readback.probe.connection import container
from tests.probe.setups import Resources
from tests.support.authority import Authority
from tests.support.server import UNLIMITED, Server, ephemeral_server


@pytest.fixture(scope="session")
def readback(tmp_path_factory: pytest.TempPathFactory):
    with ephemeral_server(tmp_path_factory.mktemp("readback"), UNLIMITED) as server:
        yield server


@pytest.fixture(scope="session")
def resources(readback: Server, tmp_path_factory: pytest.TempPathFactory) -> Resources:
    folder: Path = tmp_path_factory.mktemp("authorities")
    return Resources(
        readback, _revoked_key(readback), Authority(folder / "own"), folder
    )


@pytest.fixture(autouse=True)
def _quiet_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Remove what on this machine would change the probe's results."""
    empty = tmp_path_factory.mktemp("empty")
    monkeypatch.setattr(container, "ROOT", empty)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))
    monkeypatch.setenv("GSETTINGS_BACKEND", "memory")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "READBACK_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def _revoked_key(readback: Server) -> str:
    key = readback.new_key("revoked")
    readback.revoke_key(key)
    headers = {"Authorization": f"Bearer {key}"}
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if httpx.get(f"{readback.base_url}/models", headers=headers).is_client_error:
            return key
        time.sleep(0.05)
    raise AssertionError("the key is still accepted")
