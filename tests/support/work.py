"""The API of one worker in this process, without sockets and without a database.

Tests pass bytes to its connections, which write to transports that only store them.
"""

import asyncio
from collections.abc import Callable, Sequence
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
from readback.api.server import limits
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.http.connection import Connection
from readback.http.head import Head
from readback.http.recognition import RecognisedHeads
from readback.http.registry import ConnectionRegistry
from readback.http.timing import Timing

UNLIMITED = 10_000_000
KEYS = 64
PORT = 8000


class NullSocket:
    """A socket that has just received bytes."""

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
    """The part of an event loop that the API uses; the test runs its callbacks.

    Inside a `with` block, `get_running_loop` returns this loop.
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
    """The API of one worker, with keys that it already knows."""

    def __init__(self, limiter: Limiter | None = None) -> None:
        settings = config.read({})
        row = Counters(workers=1).row(0)
        self.limiter = limiter = limiter or Limiter(UNLIMITED, UNLIMITED)
        self.lookups: list[bytes] = []
        self.keyring = Keyring(limiter, self.lookups.append, settings.database_grace)
        self.keys = [keys.mint() for _ in range(KEYS)]
        self.key = self.keys[0]
        for key in self.keys:
            self._add_key(keys.digest(key.encode()))
        services = Services(Replies(), limiter, Journal(row), UnmatchedRequests())
        self.api = Api(services, self.keyring, row, 1)
        self.limits = limits(settings)
        # Measure times as `ApiWorker` does, but record nothing.
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

    def _add_key(self, digest: bytes) -> None:
        self.keyring.wait(digest, lambda _: None)
        row = KeyRow(digest=digest, expires_at=None, accepted=True)
        self.keyring.learn([digest], {digest: row})
        self.lookups.clear()
