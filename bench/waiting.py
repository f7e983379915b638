"""Accounts that wait on the page of a new key, as many browsers as there are accounts.

Each browser does what the page's script does: it asks for the live part over its own
connection, waits for a second after the answer, and asks again, with the version that
it has. `python -m bench waiting` reads the accounts from the first line of standard
input. For each further line, it writes what happened since the line before, as JSON.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import proc
from bench.errors import MeasurementError

INTERVAL_SECONDS = 1.0
# A request is to appear within two seconds, one of which passes between two polls.
LATE_SECONDS = 1.0


@dataclass(frozen=True)
class Account:
    session: str
    path: str
    """Of the live part."""


class WaitingAccounts:
    """Browsers that wait in a process of their own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def report(self) -> dict[str, Any]:
        """Return what has happened since the last report."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise MeasurementError("the waiting accounts have ended")
        found: dict[str, Any] = json.loads(line)
        if found["unexpected"]:
            raise MeasurementError(f"a poll was answered {found['unexpected']}")
        return found


@contextmanager
def waiting(port: int, accounts: Sequence[Account]) -> Iterator[WaitingAccounts]:
    """Let the accounts wait meanwhile, on the last core."""
    with proc.on_core(-1):
        process = subprocess.Popen(
            [sys.executable, "-m", "bench", "waiting", "--port", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    assert process.stdin
    process.stdin.write(json.dumps([vars(account) for account in accounts]) + "\n")
    process.stdin.flush()
    try:
        yield WaitingAccounts(process)
    finally:
        process.kill()
        process.communicate()


def run(port: int) -> None:
    """Wait, and report when asked, until standard input ends."""
    accounts = [Account(**each) for each in json.loads(sys.stdin.readline())]
    asyncio.run(_wait(port, accounts))


@dataclass
class _Polls:
    """What happened since the last report."""

    latencies: list[float] = field(default_factory=list)
    lost: int = 0
    """Polls whose connection was closed before the answer."""
    unexpected: str = ""

    def clear(self) -> None:
        self.latencies.clear()
        self.lost = 0

    def summary(self, seconds: float) -> dict[str, Any]:
        ordered = sorted(self.latencies) or [0.0]
        return {
            "polls": len(self.latencies),
            "seconds": seconds,
            "late": sum(latency > LATE_SECONDS for latency in ordered),
            "lost": self.lost,
            "p50": 1e6 * ordered[len(ordered) // 2],
            "p99": 1e6 * ordered[int(0.99 * (len(ordered) - 1))],
            "unexpected": self.unexpected,
        }


async def _wait(port: int, accounts: Sequence[Account]) -> None:
    polls = _Polls()
    browsers = [_Browser(port, account) for account in accounts]
    tasks = [
        asyncio.create_task(
            browser.poll_forever(polls, number / len(accounts) * INTERVAL_SECONDS)
        )
        for number, browser in enumerate(browsers)
    ]
    begun = time.monotonic()
    while await asyncio.to_thread(sys.stdin.readline):
        now = time.monotonic()
        print(json.dumps(polls.summary(now - begun)), flush=True)
        begun = now
        polls.clear()
    for task in tasks:
        task.cancel()


class _Browser:
    def __init__(self, port: int, account: Account) -> None:
        self._port, self._account = port, account
        self._version = ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def poll_forever(self, polls: _Polls, delay: float) -> None:
        await asyncio.sleep(delay)
        while True:
            sent = time.perf_counter()
            try:
                status = await self._poll()
            except (OSError, EOFError):
                self._streams = None
                polls.lost += 1
            else:
                polls.latencies.append(time.perf_counter() - sent)
                if status not in ("200", "204"):
                    polls.unexpected = status
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _poll(self) -> str:
        """Ask for the part, on the connection that is open if there is one."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(
            f"GET {self._account.path}?seen={self._version} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{self._port}\r\n"
            f"Cookie: session={self._account.session}\r\n\r\n".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines if line)
        await reader.readexactly(int(fields.get("Content-Length", 0)))
        self._version = fields.get("X-Version", self._version)
        return first.split()[1]
