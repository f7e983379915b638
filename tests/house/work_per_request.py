"""The work per request, counted instead of timed: the same on every machine.

Each kind of request is sent a fixed number of times to the API of a worker in this
process. Counted are bytecode instructions and the memory that is kept. Each version of
Python has its own record, because its bytecode differs.

`python -m tests.house.work_per_request` records the figures of the Python that runs it.
"""

import gc
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from types import FrameType
from typing import Any

from readback import keys
from tests.support.api import CHAT, MODELS, Api, draft
from tests.support.keys import mistyped
from tests.support.wire import Endpoint, Fields, request
from tests.support.work import PORT, Worker

RECORD = Path(__file__).with_suffix(".json")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# Twice the number of request ids drawn at once, so each count includes two draws.
REQUESTS = 512
TEXT = "Radio check: how do you read me? Say again please."  # 50 bytes

Work = dict[str, float]
"""The figures of one kind of request: instructions and blocks kept."""


class Case:
    """One kind of request: its bytes, sent in turn, and the expected status."""

    def __init__(
        self, status: int, *requests: bytes, new_connections: bool = False
    ) -> None:
        self.status = b"HTTP/1.1 %d " % status
        self.requests = requests
        self.new_connections = new_connections


def count() -> dict[str, Work]:
    """Count the work for every kind of request."""
    worker = Worker()
    *known, used_up = worker.keys
    worker.use_up_rate(used_up)
    with worker.loop:
        return {
            name: _work_of(worker, case)
            for name, case in _cases(known, used_up).items()
        }


def _cases(known: list[str], used_up: str) -> dict[str, Case]:
    """Return every kind of request that is counted; the names are in the record."""
    key = known[0]
    valid = _chat(key)
    models = request("GET", MODELS, _api(key).usual_fields)
    without_key = re.sub(rb"Authorization: .+\r\n", b"", valid)
    behind_proxy = [
        _chat(key, extra=[("X-Forwarded-For", f"192.0.2.{number}")])
        for number, key in enumerate(known)
    ]
    return {
        "the same head again": Case(200, valid),
        "another key and address": Case(200, *behind_proxy),
        "another head": Case(200, valid, _chat(key, extra=[("User-Agent", "another")])),
        "a fresh connection": Case(200, valid, new_connections=True),
        "the models": Case(200, models),
        "400, an unknown field": Case(400, _chat(key, temperature=0)),
        "401, a mistyped key": Case(401, _chat(mistyped(key))),
        "401, a made-up key": Case(401, _chat(keys.mint())),
        "401, no key": Case(401, without_key),
        "404, another path": Case(404, valid.replace(CHAT.encode(), b"/v1/x", 1)),
        "404, no key": Case(404, without_key.replace(CHAT.encode(), b"/v1/x", 1)),
        "429, beyond the rate": Case(429, _chat(used_up)),
    }


def _api(key: str) -> Api:
    return Api(Endpoint("127.0.0.1", PORT), key)


def _chat(key: str, extra: Fields = (), **members: object) -> bytes:
    return _api(key).chat_bytes(draft(TEXT, **members), extra=extra)


def recorded() -> dict[str, dict[str, float]]:
    """Return the recorded instructions by version of Python and kind of request."""
    found: dict[str, dict[str, float]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def record(counted: dict[str, Work]) -> None:
    """Record the instructions for this version of Python."""
    found = {name: figures["instructions"] for name, figures in counted.items()}
    text = json.dumps(dict(sorted((recorded() | {VERSION: found}).items())), indent=2)
    RECORD.write_text(text + "\n", encoding="utf-8")


def _work_of(worker: Worker, case: Case) -> Work:
    for _ in _responses(worker, case):
        pass  # fill caches, and let Python specialise the bytecode
    with _without_garbage_collector():
        return {
            "instructions": round(_count_instructions(worker, case) / REQUESTS, 2),
            "blocks_kept": _blocks_kept(worker, case) / REQUESTS,
        }


def _responses(worker: Worker, case: Case) -> Iterator[None]:
    """Send the requests of a case; yield after each response."""
    worker.registry.heads.tick()
    connection, transport = worker.connect()
    for data in islice(cycle(case.requests), REQUESTS):
        if case.new_connections:
            connection.connection_lost(None)
            connection, transport = worker.connect()
        connection.data_received(data)
        worker.settle()
        if not transport.response.startswith(case.status):
            start = transport.response[:60]
            raise AssertionError(f"expected {case.status!r}, got {start!r}")
        yield
    connection.connection_lost(None)


def _count_instructions(worker: Worker, case: Case) -> int:
    count = 0

    def observe(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return observe

    before = sys.gettrace()
    # Python 3.12 checks this only once, when tracing begins.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(observe)
    try:
        for _ in _responses(worker, case):
            pass
    finally:
        sys.settrace(before)
    return count


def _blocks_kept(worker: Worker, case: Case) -> int:
    """Return how many more memory blocks are allocated after all requests."""
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in _responses(worker, case):
        pass
    gc.collect()
    return sys.getallocatedblocks() - before


@contextmanager
def _without_garbage_collector() -> Iterator[None]:
    """Keep the garbage collector from running during a count."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


if __name__ == "__main__":
    record(count())
