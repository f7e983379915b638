"""The address of a client behind a trusted proxy, for the failure rate and the journal.

A proxy may write `ip:port`, with another port on each connection. All of them are one
client, and a forged entry before them changes nothing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from readback import keys
from tests.support.server import Server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint, exchange

BURST = 5
SETTINGS = {
    "READBACK_WORKERS": "1",
    "READBACK_TRUSTED_PROXY_COUNT": "1",
    "READBACK_AUTH_FAILURE_RATE": "1",
    "READBACK_AUTH_FAILURE_BURST": str(BURST),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ephemeral_server(tmp_path_factory.mktemp("proxied"), SETTINGS) as server:
        yield server


def status(server: Server, key: str, forwarded: str) -> int:
    raw = (
        "GET /v1/models HTTP/1.1\r\nHost: x\r\n"
        f"X-Forwarded-For: {forwarded}\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    return exchange(Endpoint.of(server.base_url), raw.encode()).status


@pytest.mark.parametrize(
    "entries",
    [
        [f"192.0.2.1:{50_000 + n}" for n in range(3 * BURST)],
        [f"[2001:db8::1]:{50_000 + n}" for n in range(3 * BURST)],
        [f"203.0.113.{n}, 192.0.2.2" for n in range(3 * BURST)],
    ],
    ids=["ports", "IPv6 and ports", "forged entries"],
)
def test_a_client_has_one_failure_rate_however_its_address_is_written(
    server: Server, entries: list[str]
) -> None:
    made_up = keys.mint()
    # Not each after the burst, because the rate refills on a slow machine.
    assert 429 in [status(server, made_up, entry) for entry in entries]
    assert status(server, made_up, f"198.51.100.{len(entries[0])}") == 401


def test_the_journal_shows_the_client_and_not_the_proxy(server: Server) -> None:
    key = server.new_key()
    assert status(server, key, "203.0.113.77, 192.0.2.3:50000") == 200
    digest = keys.digest(key.encode())
    path = next(server.folder.glob("data/**/*.sqlite3"))

    def shown() -> list[tuple[str]]:
        with closing(sqlite3.connect(path)) as database:
            return database.execute(
                "SELECT client_address FROM cabinet_journalentry JOIN cabinet_key"
                " ON cabinet_key.id = key_id WHERE digest = ?",
                [digest],
            ).fetchall()

    wait_until(shown, "the request is in the journal")
    assert shown() == [("192.0.2.x",)]
