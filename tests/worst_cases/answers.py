"""Every kind of answer, many times in a row: what it costs and what it leaves behind.

`test_work.py` counts the work, and `test_answers.py` the memory. Work is counted with
parsed heads, because the head of a refused request is often not recognized.
"""

import re
import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple

from readback import keys
from readback.http.meaning import Heads
from tests.support.api import CHAT, MODELS, Api, draft
from tests.support.keys import mistyped
from tests.support.wire import Endpoint, Fields, request
from tests.support.work import PORT, Worker
from tests.worst_cases.counting import WorstCase

# Twice the number of request ids that are drawn at once.
REQUESTS = 512
TEXT = "Radio check: how do you read me? Say again please."


class Kind(NamedTuple):
    """The status of an answer, and the requests that get it, sent in turn."""

    status: int
    requests: Sequence[bytes]
    has_new_connections: bool = False


def _api(key: str) -> Api:
    return Api(Endpoint("127.0.0.1", PORT), key)


def _chat(key: str, extra: Fields = (), **members: object) -> bytes:
    return _api(key).chat_bytes(draft(TEXT, **members), extra=extra)


def _kinds(known: Sequence[str], used_up: str) -> dict[str, Kind]:
    key = known[0]
    valid = _chat(key)
    without_key = re.sub(rb"Authorization: .+\r\n", b"", valid)
    behind_proxy = [
        _chat(key, extra=[("X-Forwarded-For", f"192.0.2.{number}")])
        for number, key in enumerate(known)
    ]
    return {
        "200": Kind(200, [valid]),
        "200, another key and address": Kind(200, behind_proxy),
        "200, a new connection": Kind(200, [valid], has_new_connections=True),
        "200, the models": Kind(200, [request("GET", MODELS, _api(key).usual_fields)]),
        "400, an unknown field": Kind(400, [_chat(key, temperature=0)]),
        "401, a mistyped key": Kind(401, [_chat(mistyped(key))]),
        "401, a made-up key": Kind(401, [_chat(keys.mint())]),
        "401, no key": Kind(401, [without_key]),
        "404, another path": Kind(404, [valid.replace(CHAT.encode(), b"/v1/x", 1)]),
        "404, no key": Kind(404, [without_key.replace(CHAT.encode(), b"/v1/x", 1)]),
        "429, beyond the rate": Kind(429, [_chat(used_up)]),
    }


def _worker_without_rate_for(key_number: int) -> Worker:
    """Return a worker that refuses every request with this key for an hour."""
    worker = Worker()
    slot = worker.limiter.slot(keys.digest(worker.keys[key_number].encode()))
    worker.limiter._full_at[slot] = time.monotonic() + 3600.0
    return worker


WORKER = _worker_without_rate_for(-1)
RECOGNISING = WORKER.registry.heads
PARSING = Heads(WORKER.api.describe, WORKER.limits.head_fields)
KINDS = _kinds(WORKER.keys[:-1], WORKER.keys[-1])


def send(kind: Kind, heads: Heads[Any], number: int) -> None:
    """Send this many requests of a kind, each after the previous one's answer."""
    expected = b"HTTP/1.1 %d " % kind.status
    WORKER.registry.heads = heads
    with WORKER.loop:
        heads.tick()
        connection, transport = WORKER.connect()
        for data in islice(cycle(kind.requests), number):
            if kind.has_new_connections:
                connection.connection_lost(None)
                connection, transport = WORKER.connect()
            connection.data_received(data)
            WORKER.settle()
            assert transport.response.startswith(expected), transport.response[:60]
        connection.connection_lost(None)


CASES = [
    WorstCase(f"answer: {name}", partial(send, kind, PARSING), int, REQUESTS)
    for name, kind in KINDS.items()
]
