"""The work per request, counted instead of timed: the same on every machine.

Connects the real connection and the real API to a transport that only stores, sends
each kind of request a fixed number of times, and counts bytecode instructions and the
memory that is kept. Each version of Python has its own record, because its bytecode
differs.

`python -m bench work` records the figures of the Python that runs it. The test
tests/house/test_work_per_request.py fails if they grow by more than a tenth.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from types import FrameType
from typing import Any, Self, cast

from readback import config, keys
from readback.api.data.journal import Journal
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRow
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import READ_FIELDS
from readback.api.endpoints.routes import Api
from readback.api.shared.limiter import Limiter
from readback.api.shared.memory import Counters
from readback.api.worker import limits
from readback.http.connection import Connection
from readback.http.head import Head
from readback.http.recognition import RecognisedHeads
from readback.http.registry import ConnectionRegistry
from readback.http.timing import Timing
from tests.support.keys import mistyped
from tests.support.wire import request

RECORD = Path(__file__).parents[1] / "house" / "work_per_request.json"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# Twice the number of request ids drawn at once, so each count includes two draws.
REQUESTS = 512
UNLIMITED = 10_000_000
KEYS = 64
PORT = 8000
CHAT = "/v1/chat/completions"
TEXT = "Radio check: how do you read me? Say again please."  # 50 bytes

Work = dict[str, float]
"""The figures of one kind of request: instructions and blocks kept."""


class NullSocket:
    """A socket on which bytes have just been received."""

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        return bytes(size)


class StoringTransport(asyncio.Transport):
    """A transport that stores the last response instead of sending it."""

    socket = NullSocket()

    def __init__(self) -> None:
        super().__init__()
        self.response = b""
        self.closing = False

    def write(self, data: Any) -> None:
        self.response = data

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        known = {"peername": ("127.0.0.1", PORT), "socket": self.socket}
        return known.get(name, default)

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class ManualLoop:
    """The part of an event loop that the API uses; callbacks run on request.

    Inside of a `with` block it is the one that `get_running_loop` returns.
    """

    def __init__(self) -> None:
        self.callbacks: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def __enter__(self) -> Self:
        asyncio._set_running_loop(cast(asyncio.AbstractEventLoop, self))
        return self

    def __exit__(self, *_: object) -> None:
        asyncio._set_running_loop(None)

    def call_soon(self, callback: Any, *args: Any, **_: Any) -> Any:
        self.callbacks.append((callback, args))

    def run_callbacks(self) -> None:
        while self.callbacks:
            callback, args = self.callbacks.pop()
            callback(*args)


def head_of(
    method: bytes, target: bytes, fields: Sequence[tuple[bytes, bytes]]
) -> Head:
    """Return a head with these fields, whose names are in lower case."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return Head(method, target, values, is_http_10=False)


class Worker:
    """The data plane of one worker behind a proxy, with no database."""

    def __init__(self, limiter: Limiter | None = None) -> None:
        settings = config.read({})
        row = Counters(rows=1).row(0)
        self._limiter = limiter = limiter or Limiter(UNLIMITED, UNLIMITED)
        self.lookups: list[bytes] = []
        self.keyring = Keyring(limiter, self.lookups.append, settings.database_grace)
        self.keys = [keys.mint() for _ in range(KEYS)]
        self.key = self.keys[0]
        for key in self.keys:
            self._add_key(keys.digest(key.encode()))
        services = Services(Replies(), limiter, Journal(row), UnmatchedRequests())
        self.api = Api(services, self.keyring, row, 1)
        self.limits = limits(settings)
        # As in `ApiWorker`.
        timing = Timing(lambda milliseconds: None)
        self.registry = ConnectionRegistry(self.api, self.limits, timing=timing)
        self.forget()
        self.loop = ManualLoop()

    def connect(self) -> tuple[Connection, StoringTransport]:
        connection = Connection(self.registry)
        transport = StoringTransport()
        connection.connection_made(transport)
        return connection, transport

    def forget(self) -> None:
        """Forget everything that is kept from one request for the next."""
        self.registry.heads = RecognisedHeads(
            self.api.describe, self.limits.head_fields, READ_FIELDS, keys.contains_key
        )
        for record in self.keyring._records.values():
            record.exchanges.clear()

    def settle(self) -> None:
        """Run scheduled callbacks, and answer key lookups with "not found"."""
        self.loop.run_callbacks()
        if self.lookups:
            lookups = self.lookups.copy()
            self.lookups.clear()
            self.keyring.learn(lookups, {})
            self.loop.run_callbacks()

    def use_up_rate(self, key: str) -> None:
        """Take from the rate of a key what would last for an hour."""
        slot = self._limiter.slot(keys.digest(key.encode()))
        self._limiter._full_at[slot] = time.monotonic() + 3600.0

    def _add_key(self, digest: bytes) -> None:
        self.keyring.wait(digest, lambda _: None)
        row = KeyRow(digest=digest, expires_at=None, accepted=True)
        self.keyring.learn([digest], {digest: row})
        self.lookups.clear()


class Case:
    """One kind of request: its bytes, sent in turn, and the expected status."""

    def __init__(
        self, status: int, *requests: bytes, new_connections: bool = False
    ) -> None:
        self.status = b"HTTP/1.1 %d " % status
        self.requests = requests
        self.new_connections = new_connections


def cases(known: list[str], used_up: str) -> dict[str, Case]:
    """Return every kind of request that is counted; the names are in the record.

    The last key has used up its rate.
    """
    key = known[0]
    valid = _chat(key)
    return {
        "the same head again": Case(200, valid),
        "another key and address": Case(
            200, *(_behind_proxy(_chat(key), n) for n, key in enumerate(known))
        ),
        "another head": Case(200, valid, _with_user_agent(valid)),
        "a fresh connection": Case(200, valid, new_connections=True),
        "the models": Case(200, request("GET", "/v1/models", _fields(key))),
        "400, an unknown field": Case(400, _chat(key, temperature=0)),
        "401, a mistyped key": Case(401, _chat(mistyped(key))),
        "401, a made-up key": Case(401, _chat(keys.mint())),
        "401, no key": Case(401, _without_key(_chat(key))),
        "404, another path": Case(404, _chat(key, path="/v1/x")),
        "429, beyond the rate": Case(429, _chat(used_up)),
    }


def count() -> dict[str, Work]:
    """Count the work for every kind of request."""
    worker = Worker()
    *known, used_up = worker.keys
    worker.use_up_rate(used_up)
    with worker.loop:
        return {
            name: _work_of(worker, case) for name, case in cases(known, used_up).items()
        }


def recorded() -> dict[str, dict[str, Work]]:
    """Return the recorded figures by version of Python; empty without a record."""
    if not RECORD.is_file():
        return {}
    found: dict[str, dict[str, Work]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def record(counted: dict[str, Work]) -> None:
    """Record figures for this version of Python."""
    # A test requires `blocks_kept` to be 0, so it needs no record.
    kept = {
        name: {"instructions": each["instructions"]} for name, each in counted.items()
    }
    text = json.dumps(dict(sorted((recorded() | {VERSION: kept}).items())), indent=2)
    RECORD.write_text(text + "\n", encoding="utf-8")


def _fields(key: str) -> list[tuple[str, str]]:
    return [
        ("Host", f"127.0.0.1:{PORT}"),
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {key}"),
    ]


def _chat(key: str, path: str = CHAT, **extra: object) -> bytes:
    message = {"role": "user", "content": TEXT}
    chat = {"model": "vendor-cabinet-preview-echo", "messages": [message], **extra}
    body = json.dumps(chat, separators=(",", ":")).encode()
    fields = [*_fields(key), ("Content-Length", str(len(body)))]
    return request("POST", path, fields, body)


def _without_key(raw: bytes) -> bytes:
    return b"\r\n".join(
        line for line in raw.split(b"\r\n") if not line.startswith(b"Authorization:")
    )


def _with_user_agent(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\r\nUser-Agent: another\r\n", 1)


def _behind_proxy(raw: bytes, number: int) -> bytes:
    line = b"\r\nX-Forwarded-For: 192.0.2.%d\r\n" % number
    return raw.replace(b"\r\n", line, 1)


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
