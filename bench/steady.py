"""A client that sends at predetermined times: `python -m bench.steady`.

A client that waits for an answer before it sends the next request records a stall of
the server as one slow request. Here each request is due at a time that does not depend
on the server, and its latency counts from that time. If no connection is idle then, the
request waits, and the wait is part of its latency. The intervals are random, like those
of independent clients (exponential), and the same in each run.

The client polls for events instead of sleeping, because a sleeping process is woken too
late. It needs a core to itself, and prints one line of JSON.
"""

import gc
import json
import re
import select
import socket
import sys
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, cycle
from pathlib import Path
from random import Random
from time import perf_counter

PATIENCE = 10.0
"""Seconds after the last request within which all answers must arrive."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Connection:
    """A connection with at most one request under way."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests: Iterator[bytes] = cycle(requests)
        self._received = b""
        self.due = 0.0

    def ask(self, due: float) -> None:
        self.due = due
        self.socket.sendall(next(self._requests))

    def has_answer(self) -> bool:
        """Read what has arrived; return whether the answer is complete."""
        received = self.socket.recv(65536)
        self._received += received
        head, _, body = self._received.partition(b"\r\n\r\n")
        if not received or not head.startswith(b"HTTP/1.1 200 "):
            raise ConnectionError(f"not an answer with 200: {head[:60]!r}")
        length = _LENGTH.search(head)
        if not length or len(body) < int(length[1]):
            return False
        self._received = b""
        return True


def run(connections: Sequence[Connection], rate: float, seconds: float) -> list[float]:
    """Send for some seconds; return the latency of each request."""
    random = Random(0)
    gaps = (random.expovariate(rate) for _ in range(int(rate * seconds)))
    start = perf_counter() + 0.01
    due = array("d", accumulate(gaps, initial=start))
    idle = deque(connections)
    latencies = array("d")
    by_descriptor = {each.socket.fileno(): each for each in connections}
    events = select.epoll()
    for descriptor in by_descriptor:
        events.register(descriptor, select.EPOLLIN)
    sent = 0
    while len(latencies) < len(due):
        now = perf_counter()
        while sent < len(due) and due[sent] <= now and idle:
            idle.popleft().ask(due[sent])
            sent += 1
        for descriptor, _ in events.poll(0):
            connection = by_descriptor[descriptor]
            if connection.has_answer():
                latencies.append(perf_counter() - connection.due)
                idle.append(connection)
        if now > due[-1] + PATIENCE:
            raise TimeoutError(f"{len(due) - len(latencies)} requests got no answer")
    return list(latencies)


def main(port: str, rate: str, seconds: str, connections: str, file: str) -> None:
    requests = Path(file).read_bytes().split(b"\0")[:-1]
    count = int(connections)
    # Each connection sends the requests of its own clients.
    shares = [requests[number::count] or requests for number in range(count)]
    opened = [Connection(int(port), share) for share in shares]
    gc.disable()
    latencies = sorted(run(opened, float(rate), float(seconds)))
    figures = {
        f"p{share}": round(1e6 * latencies[len(latencies) * share // 100])
        for share in (50, 99)
    }
    print("RESULT", json.dumps({"requests": len(latencies), **figures}))


if __name__ == "__main__":
    main(*sys.argv[1:])
