"""What the database and the metrics say is what was sent, to the last request."""

import os
import random
import signal
from collections import Counter

from readback import keys
from tests.scale.conftest import Place
from tests.support.load import chat, models, pipeline, spread
from tests.support.metrics import metrics, requests_by_outcome
from tests.support.processes import worker_pids
from tests.support.waiting import wait_until
from tests.support.wire import request

GOOD = (
    b'{"model":"vendor-cabinet-preview-echo","messages":'
    b'[{"role":"user","content":"over"}]}'
)
REQUESTS = 100_000
KEPT = 100


def mixed(place: Place, key: str) -> list[tuple[bytes, int, str, str]]:
    """Kinds of requests: the bytes, the status, and where they are counted."""
    endpoint = place.endpoint
    host = [("Host", endpoint.authority)]
    known = [*host, ("Authorization", f"Bearer {key}")]
    return [
        (chat(endpoint, key, GOOD), 200, "chat", ""),
        (models(endpoint, key), 200, "models", ""),
        (chat(endpoint, key, b"{}"), 400, "chat", "missing_field"),
        (chat(endpoint, key, b"["), 400, "chat", "invalid_json"),
        (chat(endpoint, key, b'{"n":1}'), 400, "chat", "unknown_field"),
        (request("GET", "/v1/model", known), 404, "other", "not_found"),
    ]


def foreign(place: Place) -> list[tuple[bytes, int, str, str]]:
    """Kinds of requests that belong to no key."""
    made_up = keys.mint()
    endpoint = place.endpoint
    host = [("Host", endpoint.authority)]
    return [
        (models(endpoint, made_up), 401, "models", "invalid_key"),
        (chat(endpoint, made_up[:-1] + "!", GOOD), 401, "chat", "invalid_key"),
        (request("GET", "/", host), 404, "other", "not_found"),
    ]


def test_a_hundred_thousand_mixed_requests_are_all_counted_and_none_twice(place):
    alice, bob = place.new_keys(2)
    kinds = [*mixed(place, alice), *mixed(place, bob), *foreign(place)]
    # A key that must be looked up makes its connection wait, so these are few.
    weights = [1.0] * 12 + [0.05, 1.0, 1.0]
    sent = random.Random(4).choices(kinds, weights, k=REQUESTS)
    before = Counter(requests_by_outcome(place.server.ops_url))

    answered = spread(place.endpoint, [raw for raw, *_ in sent], connections=8)

    assert answered == Counter(status for _, status, *_ in sent)
    counted = Counter((where, code or "ok") for _, _, where, code in sent)
    wait_until(
        lambda: Counter(requests_by_outcome(place.server.ops_url)) - before == counted,
        "the metrics have all of them",
    )
    for key in (alice, bob):
        own = Counter(
            (where, code) for raw, _, where, code in sent if key.encode() in raw
        )
        wait_until(lambda own=own, key=key: place.database.usage(key) == own, f"{own}")


def test_the_journal_keeps_the_last_hundred_of_each_outcome(place):
    [key] = place.new_keys(1)
    # Each program's requests are a row of their own; many more than are kept.
    for part in range(6):
        accepted, refused = (
            [numbered(place, key, target, part * 50 + n) for n in range(50)]
            for target in ("/v1/models", "/v1/nothing")
        )
        pipeline(place.endpoint, [*accepted, *refused])
        total = 100 * (part + 1)
        wait_until(lambda t=total: counted(place, key) == t, f"{total} are written")

    # Older ones go when a few more have come, so there may be a few too many.
    for was_accepted in (True, False):
        agents = journal(place, key, was_accepted)
        assert KEPT <= len(agents) <= KEPT + 40
        newest = [f"Program {n}" for n in range(300 - KEPT, 300)]
        assert set(newest) <= set(agents)


def numbered(place: Place, key: str, target: str, number: int) -> bytes:
    fields = [
        ("Host", place.endpoint.authority),
        ("Authorization", f"Bearer {key}"),
        ("User-Agent", f"Program {number}"),
    ]
    return request("GET", target, fields)


def counted(place: Place, key: str) -> int:
    return sum(place.database.usage(key).values())


def journal(place: Place, key: str, accepted: bool) -> list[str]:
    rows = place.database.rows(
        "SELECT user_agent FROM cabinet_journalentry j JOIN cabinet_key k"
        " ON k.id = j.key_id WHERE k.last_four = ? AND accepted = ? AND owner_id ="
        " (SELECT max(owner_id) FROM cabinet_key) ORDER BY j.id",
        *(key[-4:], accepted),
    )
    return [agent for (agent,) in rows]


def test_a_killed_worker_loses_nothing_that_is_a_second_old(place):
    [key] = place.new_keys(1)
    for _ in range(2):
        pipeline(place.endpoint, [models(place.endpoint, key)] * 500)
    # A second later at the most it is written; then the workers die.
    wait_until(lambda: counted(place, key) == 1000, "usage is written", seconds=1)
    killed = worker_pids(place.server)
    for worker in killed:
        os.kill(worker, signal.SIGKILL)

    wait_until(
        lambda: (
            len(worker_pids(place.server)) == 2
            and not worker_pids(place.server) & killed
        ),
        "two other workers serve",
    )
    assert pipeline(place.endpoint, [models(place.endpoint, key)] * 10) == {200: 10}
    wait_until(lambda: counted(place, key) == 1010, "nothing is lost or counted twice")
    wait_until(lambda: metrics(place.server.ops_url)["alive"] == 2, "two are alive")
