"""A load generator with a constant rate, whether or not the server keeps up.

The time at which each request is due is fixed in advance, and its latency counts from
that time. If a server stalls, every request due meanwhile is late, and its latency
shows it. (A generator that waits for a response before it sends the next request would
leave out exactly the requests that were delayed.) It polls in a busy loop, because a
timer is coarser than the latencies measured, so it needs a core of its own.

It runs as a separate process: `python -m bench fixed-rate` reads the request from
standard input and writes the result as JSON to standard output.
"""

import gc
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"
WARM_UP_SECONDS = 0.3
GRACE_SECONDS = 2.0


def measure(
    port: int, request: bytes, rate: float, seconds: float, connections: int
) -> dict[str, float]:
    """Send at a constant rate; return percentiles in microseconds."""
    pool = ConnectionPool(port, connections)
    gc.disable()
    _send(pool, request, rate, WARM_UP_SECONDS)
    samples = _send(pool, request, rate, seconds)
    return _summary(samples, rate, seconds)


@dataclass
class Samples:
    """Latencies, and delays in sending, in seconds."""

    latencies: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    refused: int = 0


class ConnectionPool:
    """The open connections, and which of them are free."""

    def __init__(self, port: int, connections: int) -> None:
        self.poll = select.epoll()
        # Bound methods by file descriptor: one dictionary lookup is cheaper than two
        # attribute lookups.
        self.send: dict[int, Callable[[bytes], int]] = {}
        self.recv: dict[int, Callable[[int], bytes]] = {}
        for _ in range(connections):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setblocking(False)
            self.send[sock.fileno()], self.recv[sock.fileno()] = sock.send, sock.recv
            self.poll.register(sock, select.EPOLLIN)
        self.free = deque(self.send)
        self.due: dict[int, float] = {}
        self.partial: dict[int, bytes] = {}
        self.usual_length = 0

    def receive(self, samples: Samples) -> None:
        """Read the responses that have arrived."""
        for number, _ in self.poll.poll(0):
            data = self.recv[number](65536)
            if not data:
                raise ConnectionError("the server closed a connection")
            if len(data) != self.usual_length or number in self.partial:
                data = self.partial.pop(number, b"") + data
                if not _is_complete(data):
                    self.partial[number] = data
                    continue
                self.usual_length = len(data)
            samples.latencies.append(time.perf_counter() - self.due.pop(number))
            samples.refused += not data.startswith(b"HTTP/1.1 200")
            self.free.append(number)


def _is_complete(data: bytes) -> bool:
    """Return whether the data contains a whole response."""
    head, end, body = data.partition(HEAD_END)
    if not end:
        return False
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        return body.endswith(b"0" + HEAD_END)
    length = lowered.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


def _send(pool: ConnectionPool, request: bytes, rate: float, seconds: float) -> Samples:
    """Send each request when it is due, then wait for outstanding responses."""
    samples, interval = Samples(), 1.0 / rate
    free, due_of, send = pool.free, pool.due, pool.send
    clock = time.perf_counter
    due = clock()
    end = due + seconds
    while due < end:
        now = clock()
        while due <= now and free:
            number = free.popleft()
            due_of[number] = due
            send[number](request)
            samples.delays.append(now - due)
            due += interval
        pool.receive(samples)
        if now > end + GRACE_SECONDS:
            break  # far too slow; requests never sent lower the `reached` share
    while due_of and clock() < end + 2 * GRACE_SECONDS:
        pool.receive(samples)
    return samples


def _summary(samples: Samples, rate: float, seconds: float) -> dict[str, float]:
    latencies, delays = sorted(samples.latencies), sorted(samples.delays)
    return {
        "rate": rate,
        "reached": len(latencies) / (rate * seconds),
        "p50": _microseconds(latencies, 0.5),
        "p99": _microseconds(latencies, 0.99),
        "p999": _microseconds(latencies, 0.999),
        "sent_late_p99": _microseconds(delays, 0.99),
        "refused": samples.refused,
    }


def _microseconds(values: list[float], quantile: float) -> float:
    return round(values[int(quantile * (len(values) - 1))] * 1e6, 1)
