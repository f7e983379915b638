"""Requests without an accepted key: which are kept, how many, and for whom."""

import re
import time
from typing import Any

import pytest

from readback import keys
from readback.api.data.unmatched import CAPACITY
from readback.contract import PROBE_PATH, UNMATCHED_ROWS
from tests.scale.conftest import Site
from tests.support.keys import mistyped
from tests.support.load import spread
from tests.support.metrics import metrics
from tests.support.waiting import wait_until
from tests.support.wire import Fields, exchange, request

# Many times more than are kept in the ticks that it takes.
FLOOD = 2000
# One writes what was counted, and now and then another deletes old rows.
STATEMENTS_PER_TICK = 2
TICKS_A_SECOND = 2
WORKERS = 2


def stored(site: Site) -> list[tuple[Any, ...]]:
    return site.database.rows(
        "SELECT endpoint, code, detail, user_agent, requests"
        " FROM cabinet_unmatchedrequest ORDER BY at"
    )


def raw(
    site: Site, method: str, target: str, *fields: tuple[str, str], body: bytes = b""
) -> bytes:
    host: Fields = [("Host", site.endpoint.authority), *fields]
    return request(method, target, host, body)


def bearer(key: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {key}")


@pytest.fixture
def empty(site: Site) -> Site:
    """The server, with nothing kept."""
    site.database.rows("DELETE FROM cabinet_unmatchedrequest")
    return site


MODELS = ("GET", "/v1/models")
NO_KEY = ("models", "invalid_key")
NO_PATH = ("other", "not_found")
# The request, its fields, and how it is kept.
KEPT = {
    "no header": (MODELS, lambda site: (), NO_KEY),
    "a mistyped key": (MODELS, lambda site: [bearer(mistyped(keys.mint()))], NO_KEY),
    "an unknown key": (
        ("POST", "/v1/chat/completions"),
        lambda site: [bearer(keys.mint())],
        ("chat", "invalid_key"),
    ),
    "a revoked key": (MODELS, lambda site: [bearer(revoked_key(site))], NO_KEY),
    "another header": (
        MODELS,
        lambda site: [("x-api-key", site.new_keys(1)[0])],
        NO_KEY,
    ),
    "a preflight": (
        ("OPTIONS", "/v1/models"),
        lambda site: [("Origin", "https://x.example")],
        NO_PATH,
    ),
    "no key, a wrong path": (("GET", "/models"), lambda site: (), NO_PATH),
    "an unknown key, a wrong path": (
        ("GET", "/models"),
        lambda site: [bearer(keys.mint())],
        NO_PATH,
    ),
}
# The first bytes of a handshake.
TLS = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def revoked_key(site: Site) -> str:
    [key] = site.new_keys(1)
    site.server.revoke_key(key)
    return key


def test_every_request_without_an_accepted_key_is_kept(empty):
    site = empty
    sent = set()
    with site.endpoint.connect() as connection:
        for kind, (line, fields, (endpoint, code)) in KEPT.items():
            # Each with its own name, so that each has its own row.
            asked = raw(site, *line, ("User-Agent", kind), *fields(site))
            connection.send(asked)
            answer = connection.read_answer()
            assert answer.reason.endswith(f"({code})"), kind
            sent.add((endpoint, code, answer.header("X-Error-Detail"), kind, 1))

    # One address has the largest number of rows that are kept for it.
    assert len(sent) == UNMATCHED_ROWS
    wait_until(lambda: len(stored(site)) == len(sent), lambda: f"{stored(site)}")
    assert sorted(stored(site)) == sorted(sent)
    # What is not HTTP is kept, too.
    site.database.rows("DELETE FROM cabinet_unmatchedrequest")
    answer = exchange(site.endpoint, TLS)
    wait_until(lambda: stored(site), "the request is written")
    detail = answer.header("X-Error-Detail")
    assert stored(site) == [("other", "malformed_request", detail, "", 1)]


def test_requests_with_an_accepted_key_and_those_of_the_probe_are_not_kept(empty):
    site = empty
    [key] = site.new_keys(1)
    in_the_name_of_a_program = ("User-Agent", "OpenAI/Python 3.49.0")
    sent = [
        (200, raw(site, *MODELS, bearer(key))),
        (404, raw(site, "GET", "/models", bearer(key))),
        (415, raw(site, "POST", "/v1/chat/completions", bearer(key))),
        (404, raw(site, "GET", PROBE_PATH, in_the_name_of_a_program)),
        (401, raw(site, *MODELS, ("User-Agent", "marker"))),
    ]
    for status, asked in sent:
        assert exchange(site.endpoint, asked).status == status

    wait_until(lambda: stored(site), "the marker is written")
    assert [row[3] for row in stored(site)] == ["marker"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_flood_from_many_addresses_is_bounded_and_leaves_no_key(start, kind):
    site = start(kind, READBACK_WORKERS=f"{WORKERS}", READBACK_TRUSTED_PROXY_COUNT="1")
    made_up = [mistyped(keys.mint()) for _ in range(FLOOD)]
    flood = [
        raw(
            site,
            "GET",
            "/v1/models",
            ("X-Forwarded-For", f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"),
            ("User-Agent", f"agent {n % 977}"),
            bearer(key),
        )
        for n, key in enumerate(made_up)
    ]
    before = metrics(site.server.ops_url)["statements_total"]
    ticks = Ticks()

    assert spread(site.endpoint, flood, connections=10) == {401: FLOOD}
    wait_until(lambda: stored(site), "something is written")

    # Refreshing the keys takes one statement per tick.
    allowed = ticks.until_now() * WORKERS * (1 + STATEMENTS_PER_TICK)
    assert metrics(site.server.ops_url)["statements_total"] - before <= allowed
    kept = ticks.until_now() * WORKERS * CAPACITY
    assert 0 < len(stored(site)) <= kept
    assert not keys_in(everything_stored(site), made_up)
    logged = (site.server.folder / "stderr").read_text()
    assert not keys_in(logged, made_up)


class Ticks:
    """How many ticks there may have been since this was created."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def until_now(self) -> float:
        # The first, the last, and one more for tolerance.
        return (time.monotonic() - self._began) * TICKS_A_SECOND + 3


def keys_in(text: str, made_up: list[str]) -> set[str]:
    secrets = {key.removeprefix(keys.PREFIX) for key in made_up}
    return set(re.findall(r"[0-9A-Za-z]{38}", text)) & secrets


def everything_stored(site: Site) -> str:
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if site.database.is_sqlite
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    tables = [name for (name,) in site.database.rows(names)]
    assert "cabinet_unmatchedrequest" in tables
    return str([site.database.rows(f'SELECT * FROM "{table}"') for table in tables])


def test_turned_off_nothing_is_kept(start):
    site = start("sqlite", READBACK_WORKERS="1", READBACK_UNMATCHED_REQUESTS="off")
    assert exchange(site.endpoint, raw(site, *MODELS)).status == 401
    # What is written now was received later.
    [key] = site.new_keys(1)
    exchange(site.endpoint, raw(site, *MODELS, bearer(key)))
    wait_until(lambda: site.database.usage(key), "the next tick has written")

    assert stored(site) == []
