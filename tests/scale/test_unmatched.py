"""Which requests without an accepted key are kept."""

from typing import Any

import pytest

from readback import keys
from readback.contract import PROBE_PATH, UNMATCHED_ROWS
from tests.support.keys import mistyped
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Fields, exchange, request


def stored(site: Server) -> list[tuple[Any, ...]]:
    return site.database.rows(
        "SELECT endpoint, code, detail, user_agent, requests"
        " FROM cabinet_unmatchedrequest ORDER BY at"
    )


def raw(
    site: Server, method: str, target: str, *fields: tuple[str, str], body: bytes = b""
) -> bytes:
    host: Fields = [("Host", site.endpoint.authority), *fields]
    return request(method, target, host, body)


def bearer(key: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {key}")


@pytest.fixture
def empty(site: Server) -> Server:
    """The server, after its unmatched requests have been deleted."""
    site.database.rows("DELETE FROM cabinet_unmatchedrequest")
    return site


MODELS = ("GET", "/v1/models")
NO_KEY = ("models", "invalid_key")
NO_PATH = ("other", "not_found")
# The request line, the fields, and the endpoint and code that are stored.
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
        lambda site: [("x-api-key", site.database.new_keys(1)[0])],
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
# The first bytes of a TLS handshake.
TLS = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


def revoked_key(site: Server) -> str:
    [key] = site.database.new_keys(1)
    site.revoke_key(key)
    return key


def test_every_request_without_an_accepted_key_is_kept(empty):
    site = empty
    sent = set()
    with site.endpoint.connect() as connection:
        for kind, (line, fields, (endpoint, code)) in KEPT.items():
            # Each request has its own User-Agent, and therefore its own row.
            asked = raw(site, *line, ("User-Agent", kind), *fields(site))
            connection.send(asked)
            answer = connection.read_answer()
            assert answer.reason.endswith(f"({code})"), kind
            sent.add((endpoint, code, answer.header("X-Error-Detail"), kind, 1))

    # The server keeps no more rows than this for an address.
    assert len(sent) == UNMATCHED_ROWS
    wait_until(lambda: len(stored(site)) == len(sent), lambda: f"{stored(site)}")
    assert sorted(stored(site)) == sorted(sent)
    # Requests that are not HTTP are also kept.
    site.database.rows("DELETE FROM cabinet_unmatchedrequest")
    answer = exchange(site.endpoint, TLS)
    wait_until(lambda: stored(site), "the request is written")
    detail = answer.header("X-Error-Detail")
    assert stored(site) == [("other", "malformed_request", detail, "", 1)]


def test_requests_with_an_accepted_key_and_those_of_the_probe_are_not_kept(empty):
    site = empty
    [key] = site.database.new_keys(1)
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


def test_turned_off_nothing_is_kept(start):
    site = start("sqlite", READBACK_WORKERS="1", READBACK_UNMATCHED_REQUESTS="off")
    assert exchange(site.endpoint, raw(site, *MODELS)).status == 401
    # If this request were kept, it would be stored before the usage of a later one.
    [key] = site.database.new_keys(1)
    exchange(site.endpoint, raw(site, *MODELS, bearer(key)))
    wait_until(lambda: site.database.usage(key), "the next tick has written")

    assert stored(site) == []
