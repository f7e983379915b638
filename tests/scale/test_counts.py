"""The counts in the database and in the metrics are exact, to the last request."""

import random
from collections import Counter

from readback import keys
from tests.support.api import Api, draft
from tests.support.load import models, spread
from tests.support.metrics import requests_by_outcome
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import request


def with_key(site: Server, key: str) -> list[tuple[bytes, int, str, str]]:
    """Return kinds of requests: bytes, status, counted endpoint, counted code."""
    api = Api(site.endpoint, key)
    return [
        (api.chat_bytes(draft("over")), 200, "chat", ""),
        (models(site.endpoint, key), 200, "models", ""),
        (api.chat_bytes(b"{}"), 400, "chat", "missing_field"),
        (api.chat_bytes(b"["), 400, "chat", "invalid_json"),
        (api.chat_bytes(b'{"n":1}'), 400, "chat", "unknown_field"),
        (request("GET", "/v1/model", api.usual_fields), 404, "other", "not_found"),
    ]


def without_known_key(site: Server) -> list[tuple[bytes, int, str, str]]:
    """Return kinds of requests that are not counted for any key."""
    unknown = Api(site.endpoint, keys.mint())
    damaged = unknown.with_key(unknown.key[:-1] + "!")
    return [
        (models(site.endpoint, unknown.key), 401, "models", "invalid_key"),
        (damaged.chat_bytes(draft("over")), 401, "chat", "invalid_key"),
        (request("GET", "/", [unknown.host]), 404, "other", "not_found"),
    ]


def test_thousands_of_mixed_requests_are_counted_exactly_once(site):
    alice, bob = site.database.new_keys(2)
    kinds = [*with_key(site, alice), *with_key(site, bob), *without_known_key(site)]
    # Few requests have an unknown key, because each of them waits for a lookup.
    weights = [1.0] * 12 + [0.05, 1.0, 1.0]
    # Enough requests for their counts to be written in several ticks.
    sent = random.Random(4).choices(kinds, weights, k=5_000)
    before = Counter(requests_by_outcome(site.ops_url))

    answered = spread(site.endpoint, [raw for raw, *_ in sent], connections=8)

    assert answered == Counter(status for _, status, *_ in sent)
    counted = Counter((where, code or "ok") for _, _, where, code in sent)
    wait_until(
        lambda: Counter(requests_by_outcome(site.ops_url)) - before == counted,
        "the metrics count all of them",
    )
    for key in (alice, bob):
        own = Counter(
            (where, code) for raw, _, where, code in sent if key.encode() in raw
        )
        wait_until(lambda own=own, key=key: site.database.usage(key) == own, f"{own}")
