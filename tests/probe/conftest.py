"""Fixtures: one Readback server for all tests of the probe, keys and certificates."""

import signal
from collections.abc import Iterator
from pathlib import Path

import certifi
import httpx
import pytest

from readback.probe.connection import stores, tcp
from tests.probe.setups import Resources
from tests.support.authority import Authority
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import wait_until

_VARIABLES = (
    "READBACK_API_KEY",
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_ENV_PROXY"),
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NETRC"),
    *("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_CUSTOM_HEADERS"),
)

_FEW = "".join(certifi.contents().partition("-----END CERTIFICATE-----")[:2])


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
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in _VARIABLES:
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
    monkeypatch.setattr(stores.certifi, "contents", lambda: _FEW)


def _revoked_key(readback: Server) -> str:
    key = readback.new_key()
    readback.revoke_key(key)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(headers=headers, timeout=60) as client:
        wait_until(
            lambda: client.get(f"{readback.base_url}/models").is_client_error,
            "the key is refused",
        )
    return key
