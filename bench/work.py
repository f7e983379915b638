"""The work of one request, counted instead of timed: the same on every machine.

Puts the real connection and the real API on a transport that only remembers, sends
each kind of request a fixed number of times, and counts function calls, bytecode
instructions and the memory taken in passing. Python versions differ, so each has a
record of its own.

`python -m bench.work` records the figures of the Python that runs it; a test under
tests/house fails when they grow by more than a tenth.
"""

import asyncio
import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from bench.messages import Request, mistyped
from bench.roster import ROOT
from readback import config, keys
from readback.api.data.journal import Journal
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRow
from readback.api.endpoints.exchange import Services
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.routes import Api
from readback.api.http.connection import Connection
from readback.api.http.registry import ConnectionRegistry
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.api.worker import limits

RECORD = ROOT / "tests" / "house" / "work_per_request.json"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# Twice as many as the ids that are drawn at once, so each count has as many draws.
REQUESTS = 512
UNLIMITED = 10_000_000
PORT = 8000

Work = dict[str, float]


class Wire(asyncio.Transport):
    """A transport that remembers the last answer and sends it nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = b""
        self.closing = False

    def write(self, data: Any) -> None:
        self.answer = data

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", PORT) if name == "peername" else default

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Loop(asyncio.AbstractEventLoop):
    """A loop that keeps what is to be called soon, until it is told to."""

    def __init__(self) -> None:
        self.soon: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def call_soon(self, callback: Any, *args: Any, **_: Any) -> Any:
        self.soon.append((callback, args))

    def turn(self) -> None:
        while self.soon:
            callback, args = self.soon.pop()
            callback(*args)


class Worker:
    """The data plane of one worker, with one known key and no database."""

    def __init__(self) -> None:
        settings = config.read({})
        row = Counters(rows=1).row(0)
        rates = Limiter(UNLIMITED, UNLIMITED)
        self.asked: list[bytes] = []
        self.keyring = Keyring(rates, self.asked.append, settings.database_grace)
        self.key = keys.mint()
        self._remember(keys.digest(self.key.encode()))
        services = Services(Replies(), rates, Journal(row))
        failures = Limiter(UNLIMITED, UNLIMITED)
        self.api = Api(services, self.keyring, failures, row, 0)
        self.board = ConnectionRegistry(self.api, limits(settings))
        self.loop = Loop()

    def connect(self) -> tuple[Connection, Wire]:
        connection, wire = Connection(self.board), Wire()
        connection.connection_made(wire)
        return connection, wire

    def settle(self) -> None:
        """Do what a request leaves to be done after its answer, or waits for."""
        self.loop.turn()
        if self.asked:
            asked = self.asked.copy()
            self.asked.clear()
            self.keyring.learn(asked, {})

    def _remember(self, digest: bytes) -> None:
        self.keyring.wait(digest, lambda _: None)
        row = KeyRow(digest=digest, key_id=1, expires_at=None, accepted=True)
        self.keyring.learn([digest], {digest: row})
        self.asked.clear()


class Case:
    """One kind of request: its bytes, in turn, and the status that they get."""

    def __init__(self, status: int, *requests: bytes, fresh: bool = False) -> None:
        self.status = b"HTTP/1.1 %d " % status
        self.requests = requests
        self.fresh = fresh


def cases(key: str) -> dict[str, Case]:
    right = Request(key)
    text = right.on_the_wire(PORT)
    models = text.partition(b"Content-Length")[0].replace(
        b"POST /v1/chat/completions", b"GET /v1/models"
    )
    typo = right.but(key=mistyped(key))
    made_up = right.but(key=keys.mint())
    unknown_field = right.but(extra_fields={"temperature": 0})
    return {
        "the same head again": Case(200, text),
        "another head": Case(200, text, _with_agent(text, b"another")),
        "a fresh connection": Case(200, text, fresh=True),
        "the models": Case(200, models + b"\r\n"),
        "400, an unknown field": Case(400, unknown_field.on_the_wire(PORT)),
        "401, a mistyped key": Case(401, typo.on_the_wire(PORT)),
        "401, a made-up key": Case(401, made_up.on_the_wire(PORT)),
        "404, another path": Case(404, right.but(path="/v1/x").on_the_wire(PORT)),
    }


def work() -> dict[str, Work]:
    """Count the work of every kind of request."""
    worker = Worker()
    # `get_running_loop` is all that the API asks of a loop, and it asks for this one.
    asyncio._set_running_loop(worker.loop)
    try:
        return {
            name: _work_of(worker, case) for name, case in cases(worker.key).items()
        }
    finally:
        asyncio._set_running_loop(None)


def _work_of(worker: Worker, case: Case) -> Work:
    for _ in _answers(worker, case):
        pass  # caches fill, and the code is specialised where Python does that
    with _still():
        return {
            "calls": round(_count_calls(worker, case) / REQUESTS, 2),
            "instructions": round(_count_instructions(worker, case) / REQUESTS, 2),
            "bytes": _bytes_in_passing(worker, case),
            "blocks_kept": _blocks_kept(worker, case) / REQUESTS,
        }


def _answers(worker: Worker, case: Case) -> Iterator[None]:
    """Send a case so many times; stop after each."""
    connection, wire = worker.connect()
    for data in islice(cycle(case.requests), REQUESTS):
        if case.fresh:
            connection.connection_lost(None)
            connection, wire = worker.connect()
        connection.data_received(data)
        worker.settle()
        if not wire.answer.startswith(case.status):
            raise AssertionError(f"{case.status!r} expected, {wire.answer[:60]!r} came")
        yield
    connection.connection_lost(None)


def _count_calls(worker: Worker, case: Case) -> int:
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        for _ in _answers(worker, case):
            pass
    finally:
        sys.setprofile(before)
    return count


def _count_instructions(worker: Worker, case: Case) -> int:
    count = 0

    def see(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return see

    before = sys.gettrace()
    # Python 3.12 looks once, when tracing begins, whether anybody wants instructions.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(see)
    try:
        for _ in _answers(worker, case):
            pass
    finally:
        sys.settrace(before)
    return count


def _bytes_in_passing(worker: Worker, case: Case) -> float:
    """The most memory that a request holds at once, of what it gives back."""
    tracemalloc.start()
    peaks = []
    base = tracemalloc.get_traced_memory()[0]
    for _ in _answers(worker, case):
        now, peak = tracemalloc.get_traced_memory()
        peaks.append(peak - base)
        tracemalloc.reset_peak()
        base = now
    tracemalloc.stop()
    return median(peaks)


def _blocks_kept(worker: Worker, case: Case) -> int:
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in _answers(worker, case):
        pass
    gc.collect()
    return sys.getallocatedblocks() - before


@contextmanager
def _still() -> Iterator[None]:
    """Keep the garbage collector from working in between."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _with_agent(request: bytes, agent: bytes) -> bytes:
    return request.replace(b"\r\n", b"\r\nUser-Agent: %b\r\n" % agent, 1)


def recorded(path: Path = RECORD) -> dict[str, dict[str, Work]]:
    found: dict[str, dict[str, Work]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    record = recorded() if RECORD.is_file() else {}
    counted = work()
    for figures in counted.values():
        del figures["blocks_kept"]  # held to nothing by a test of its own
    record[VERSION] = counted
    text = json.dumps(dict(sorted(record.items())), indent=2)
    RECORD.write_text(text + "\n", encoding="utf-8")
    for name, figures in counted.items():
        said = ", ".join(f"{value:g} {unit}" for unit, value in figures.items())
        print(f"{name}: {said}")
    print(f"Recorded for Python {VERSION} in {RECORD.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
