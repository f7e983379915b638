"""The clients of the soak: hundreds of connections that send, check and record.

They run in their own process, in one event loop. A request is lost if no answer
follows although the service had not announced that it would close the connection. A
connection that the service closes between two requests loses nothing: the client opens
another one. No client pauses for longer than MAX_PAUSE between two requests.
"""

import asyncio
import json
import random
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import uvloop
from tests.support.api import assert_echo, assert_refused, assert_success
from tests.support.wire import Answer, BrokenAnswer, Endpoint, parse_head

from soak.calls import Call, Calls
from soak.records import LOST, PATIENCE, ClientConnection, Recorder
from soak.relay import Relay

MAX_PAUSE = 2.0
ONE_WAY_SECONDS = 0.2
"""The delay of the long path in each direction: a round trip of 400 ms."""


@dataclass(frozen=True)
class Role:
    """A group of clients that behave alike."""

    name: str
    clients: int
    pause: float
    """The mean pause before a request, or before a burst."""
    own_key: bool
    """Whether each client has its own key; otherwise they share a few."""
    burst: int = 1
    requests_per_connection: int = 0
    """The client closes the connection after this many; 0 means that it never does."""
    distant: bool = False


ROLES = (
    Role("steady", 60, pause=0.4, own_key=True),
    Role("shared key", 100, pause=0.4, own_key=False),
    Role("bursts", 4, pause=1.5, own_key=True, burst=150),
    Role("brief", 20, pause=0.5, own_key=False, requests_per_connection=1),
    Role("long path", 30, pause=0.1, own_key=True, distant=True),
    Role("long path, shared key", 30, pause=0.1, own_key=False, distant=True),
)
SHARED_KEYS = 4
OWN_KEYS = sum(role.clients for role in ROLES if role.own_key)
KEYS = SHARED_KEYS + OWN_KEYS
CLIENTS = sum(role.clients for role in ROLES)


def main() -> None:
    """Read orders from standard input; stop when it is closed.

    After the first line, each line is `pause` or `resume`.
    """
    orders = json.loads(sys.stdin.readline())
    uvloop.run(_run(orders))


async def _run(orders: dict[str, Any]) -> None:
    port = orders["port"]
    seed = orders["seed"]
    relay = Relay(port, ONE_WAY_SECONDS)
    await relay.start()
    recorder = Recorder(Path(orders["folder"]))
    calls = Calls(Endpoint("127.0.0.1", port), orders["keys"], orders["marker"], seed)
    crowd = Crowd(port, relay, recorder, calls, random.Random(seed))
    reporting = asyncio.create_task(_report(crowd))
    loop = asyncio.get_running_loop()
    threading.Thread(target=_obey, args=(crowd, loop), daemon=True).start()
    await asyncio.gather(*crowd.clients())
    reporting.cancel()
    await relay.stop()
    recorder.finish(calls.texts.code_points)


def _obey(crowd: "Crowd", loop: asyncio.AbstractEventLoop) -> None:
    """Follow the orders on standard input; runs in a daemon thread."""
    for line in sys.stdin:
        set_or_clear = crowd.going.clear if line == "pause\n" else crowd.going.set
        loop.call_soon_threadsafe(set_or_clear)
    loop.call_soon_threadsafe(crowd.stop)


async def _report(crowd: "Crowd") -> None:
    """Print the counts so far, several times a second."""
    recorder = crowd.recorder
    while True:
        figures = (recorder.answered, recorder.lost, len(recorder.wrong))
        print(json.dumps([*figures, crowd.under_way]), flush=True)
        await asyncio.sleep(0.2)


class Crowd:
    """All clients, and what they share."""

    def __init__(
        self,
        port: int,
        relay: Relay,
        recorder: Recorder,
        calls: Calls,
        random_: random.Random,
    ) -> None:
        self.port = port
        self.relay = relay
        self.recorder = recorder
        self.calls = calls
        self.random = random_
        self.stopping = False
        self.going = asyncio.Event()
        self.going.set()
        self.under_way = 0
        """Requests without an answer, and connections that are being opened."""

    def stop(self) -> None:
        """End each client after its current answer."""
        self.stopping = True
        self.going.set()

    def clients(self) -> list[Coroutine[Any, Any, None]]:
        made = []
        next_own_key = SHARED_KEYS
        for role in ROLES:
            for number in range(role.clients):
                key = number % SHARED_KEYS
                if role.own_key:
                    key = next_own_key
                    next_own_key += 1
                made.append(self._client(role, key))
        return made

    async def _client(self, role: Role, key: int) -> None:
        """Open one connection after another."""
        while await self._may_go_on():
            try:
                with self._under_way():
                    link = await Link.open(self, role.distant)
            except OSError as error:
                self.recorder.refused_connections.append(repr(error))
                await asyncio.sleep(1)
                continue
            try:
                await self._use(link, role, key)
            finally:
                link.close()

    async def _use(self, link: "Link", role: Role, key: int) -> None:
        asked = 0
        while True:
            if asked % role.burst == 0:
                pause = self.random.expovariate(1 / role.pause)
                await asyncio.sleep(min(pause, MAX_PAUSE))
            go_on = await self._may_go_on()
            # Let the event loop notice that the service has closed the connection.
            await asyncio.sleep(0)
            if not go_on or link.is_over():
                return
            in_burst = role.burst > 1
            call = self.calls.echo(key) if in_burst else self.calls.next(key)
            with self._under_way():
                await link.ask(call)
            asked += 1
            if asked == role.requests_per_connection:
                return

    async def _may_go_on(self) -> bool:
        await self.going.wait()
        return not self.stopping

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1


class Link:
    """One connection to the service, direct or over the long path."""

    def __init__(
        self, crowd: Crowd, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._relay = crowd.relay
        self._recorder = crowd.recorder
        self._reader = reader
        self._writer = writer
        self._own_port: int = writer.get_extra_info("sockname")[1]
        self._distant = writer.get_extra_info("peername")[1] == crowd.relay.port
        delay = ONE_WAY_SECONDS if self._distant else 0.0
        self._connection = ClientConnection(self._own_port, time.monotonic(), delay)
        self._number = crowd.recorder.add(self._connection)
        self._over = False
        self._known_keys: set[int] = set()

    @classmethod
    async def open(cls, crowd: Crowd, distant: bool) -> "Link":
        port = crowd.relay.port if distant else crowd.port
        connecting = asyncio.open_connection("127.0.0.1", port)
        return cls(crowd, *await asyncio.wait_for(connecting, PATIENCE))

    def close(self) -> None:
        self._connection.closed = time.monotonic()
        if self._distant:
            # The service sees the port of the relay.
            self._connection.port = self._relay.upstream_port(self._own_port)
        self._writer.close()

    def is_over(self) -> bool:
        """Return whether no further request may be sent."""
        return self._over or self._reader.at_eof() or self._writer.is_closing()

    async def ask(self, call: Call) -> None:
        """Send a request, read its answer, check and record it."""
        sent = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._send(call)
                answer = await self._read()
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self._over = True
            times = (sent, time.monotonic())
            outcome = (call.endpoint, LOST)
            self._recorder.note(times, self._number, call.key, outcome)
            return
        self._over = "close" in answer.all("Connection")
        self._check(call, answer, (sent, time.monotonic()))

    async def _send(self, call: Call) -> None:
        for number, piece in enumerate(call.pieces):
            if number:
                await asyncio.sleep(0.002)
            if self._writer.is_closing():
                raise ConnectionResetError
            self._writer.write(piece)
        await self._writer.drain()

    async def _read(self) -> Answer:
        head = await self._reader.readuntil(b"\r\n\r\n")
        try:
            status, reason, headers = parse_head(head[:-4])
        except BrokenAnswer as error:
            raise ConnectionError(str(error)) from None
        length = next(v for name, v in headers if name == "Content-Length")
        body = await self._reader.readexactly(int(length))
        return Answer(status, reason, headers, body, head[:-4])

    def _check(self, call: Call, answer: Answer, times: tuple[float, float]) -> None:
        code = _code_of(answer)
        created = 0
        id_ = UUID(int=0)
        try:
            if code == "unavailable" and self._may_be_unavailable(call):
                pass  # the verdicts decide whether the database was away
            elif call.code:
                assert_refused(answer, call.code)
            elif call.endpoint == "models":
                assert_success(answer)
            else:
                body = assert_echo(answer, call.text)
                created = body["created"]
                id_ = UUID(body["id"])
        except (AssertionError, KeyError, ValueError):
            self._recorder.wrong.append(_describe(call, answer))
        if code != "unavailable" and call.endpoint != "other":
            self._known_keys.add(call.key)
        outcome = (call.endpoint, code)
        self._recorder.note(times, self._number, call.key, outcome, created, id_.bytes)

    def _may_be_unavailable(self, call: Call) -> bool:
        """Return whether the worker may not know the key of this request yet."""
        return call.look_up or call.key not in self._known_keys


def _code_of(answer: Answer) -> str:
    """Return the code of a refusal; empty for a success."""
    if answer.status == 200:
        return ""
    try:
        return str(json.loads(answer.body)["error"]["code"])
    except (ValueError, LookupError, TypeError):
        return f"status {answer.status}"


def _describe(call: Call, answer: Answer) -> str:
    """Describe what was expected and what was received, without the text."""
    expected = call.code or "200"
    received = f"{answer.status} {_code_of(answer)}".strip()
    if received == expected:
        received += f" that differs from the contract, {len(answer.body)} bytes"
    return f"{call.endpoint}: expected {expected}, received {received}"


if __name__ == "__main__":
    main()
