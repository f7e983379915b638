"""The servers and keys of the conformance tests.

With --base-url, the tests run against that server, and a test that needs more than the
options provide is skipped. Otherwise servers are started here, each in its own process.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from readback import keys
from tests.support import api as support
from tests.support.api import MARKER, Api
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint, exchange, request

# The secret of a key that was never issued.
UNKNOWN_SECRET = "Mallory0Mallory0Mallory0Mallory0"

# Rates that a test can use up, and short timeouts.
STRICT = UNLIMITED | {
    "READBACK_KEY_RATE": "1",
    "READBACK_KEY_BURST": "3",
    # The head timeout starts with the connection, and a busy client may send late.
    "READBACK_HEAD_TIMEOUT": "3",
    "READBACK_BODY_TIMEOUT": "1",
}


@pytest.fixture(scope="session")
def own_server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server | None]:
    """The server started for this run; None with --base-url."""
    if pytestconfig.getoption("--base-url"):
        yield None
        return
    folder = tmp_path_factory.mktemp("server")
    with ephemeral_server(folder, UNLIMITED) as server:
        yield server
        ops, scrape = Endpoint.of(server.ops_url), [("Host", "x")]
        shown = exchange(ops, request("GET", "/metrics", scrape)).body
        (folder / "metrics").write_bytes(shown)
    assert_no_text_or_key_was_written(folder, server.api_key)


@pytest.fixture
def server(own_server: Server | None) -> Server:
    """The server started for this run, with its cabinet; skip with --base-url."""
    if own_server is None:
        pytest.skip("needs its own server, so not with --base-url")
    return own_server


@pytest.fixture(scope="session")
def api(pytestconfig: pytest.Config, own_server: Server | None) -> Api:
    if own_server:
        return Api.of(own_server)
    base_url = pytestconfig.getoption("--base-url")
    key = pytestconfig.getoption("--api-key")
    support.compares_headers = not pytestconfig.getoption("--ignore-headers")
    if not key:
        raise pytest.UsageError("--base-url needs --api-key")
    if urlsplit(base_url).path.rstrip("/") != "/v1":
        raise pytest.UsageError("--base-url must be an origin followed by /v1")
    return Api(Endpoint.of(base_url), key)


@pytest.fixture(scope="session")
def unused_key(pytestconfig: pytest.Config, own_server: Server | None) -> str:
    return own_server.new_key() if own_server else _given(pytestconfig, "--unused-key")


@pytest.fixture(scope="session")
def revoked_key(pytestconfig: pytest.Config, own_server: Server | None) -> str:
    if own_server is None:
        return _given(pytestconfig, "--revoked-key")
    key = own_server.new_key()
    assert _is_accepted(own_server, key)
    own_server.revoke_key(key)
    return _until_refused(own_server, key)


@pytest.fixture(scope="session")
def expired_key(pytestconfig: pytest.Config, own_server: Server | None) -> str:
    if own_server is None:
        return _given(pytestconfig, "--expired-key")
    key = own_server.new_key()
    own_server.database.rows(
        "UPDATE cabinet_key SET expires_at = ? WHERE digest = ?",
        *(own_server.database.moment(1), keys.digest(key.encode())),
    )
    return _until_refused(own_server, key)


@pytest.fixture(scope="session")
def strict_server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    if pytestconfig.getoption("--base-url"):
        pytest.skip("needs its own limits, so not with --base-url")
    with ephemeral_server(tmp_path_factory.mktemp("server"), STRICT) as server:
        yield server


def assert_no_text_or_key_was_written(folder: Path, key: str) -> None:
    """Check that no file contains a text or a key, except the key in the ready line.

    The server has stopped, so it has written everything: the log, the metrics, and the
    database with its journal.
    """
    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    stdout = folder / "stdout"
    _, written[stdout] = written[stdout].split(b"\n", 1)
    assert any(b"cabinet_journalentry" in content for content in written.values())
    for path, content in written.items():
        for secret in (MARKER, key, key[8:40], UNKNOWN_SECRET):
            assert secret.encode() not in content, f"{secret} is in {path}"


def _given(config: pytest.Config, option: str) -> str:
    key = config.getoption(option)
    if not key:
        pytest.skip(f"needs {option}")
    return key


def _is_accepted(server: Server, key: str) -> bool:
    return Api.of(server).with_key(key).models().status == 200


def _until_refused(server: Server, key: str) -> str:
    """Return the key as soon as it has stopped working."""
    wait_until(lambda: not _is_accepted(server, key), "the key is refused")
    return key
