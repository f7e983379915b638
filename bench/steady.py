"""A constant rate of requests, whether or not the server keeps up.

Each request has a moment at which it is due, fixed beforehand, and its latency counts
from that moment: a server that stalls delays all that are due meanwhile, and they
say so. (A generator that waits for an answer before it sends the next request would
leave out just the ones that suffered.) It spins instead of sleeping, because a timer
is coarser than what is measured; so it needs a core of its own.

Runs as a process: `python -m bench.steady`, the request on standard input, the result
as JSON on standard output.
"""

import gc
import json
import select
import socket
import sys
import time
from argparse import ArgumentParser
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"
WARM_SECONDS = 0.3
PATIENCE_SECONDS = 2.0


@dataclass
class Tape:
    """What happened; latencies and delays in seconds."""

    latencies: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    refused: int = 0


class Crowd:
    """The connections, and which of them are free."""

    def __init__(self, port: int, connections: int) -> None:
        self.poll = select.epoll()
        # Bound methods by file number: looking one up costs less than two attributes.
        self.send: dict[int, Callable[[bytes], int]] = {}
        self.recv: dict[int, Callable[[int], bytes]] = {}
        for _ in range(connections):
            each = socket.create_connection(("127.0.0.1", port))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setblocking(False)
            self.send[each.fileno()], self.recv[each.fileno()] = each.send, each.recv
            self.poll.register(each, select.EPOLLIN)
        self.free = deque(self.send)
        self.due: dict[int, float] = {}
        self.partial: dict[int, bytes] = {}
        self.usual_length = 0

    def receive(self, tape: Tape) -> None:
        """Take in the answers that are here."""
        for number, _ in self.poll.poll(0):
            data = self.recv[number](65536)
            if not data:
                raise ConnectionError("the server closed a connection")
            if len(data) != self.usual_length or number in self.partial:
                data = self.partial.pop(number, b"") + data
                if not is_whole(data):
                    self.partial[number] = data
                    continue
                self.usual_length = len(data)
            tape.latencies.append(time.perf_counter() - self.due.pop(number))
            tape.refused += not data.startswith(b"HTTP/1.1 200")
            self.free.append(number)


def is_whole(data: bytes) -> bool:
    """Tell whether an answer has come to its end."""
    head, end, body = data.partition(HEAD_END)
    if not end:
        return False
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        return body.endswith(b"0" + HEAD_END)
    length = lowered.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


def send_at(crowd: Crowd, request: bytes, rate: float, seconds: float) -> Tape:
    """Send what is due when it is due, for so long; then wait for what is out."""
    tape, interval = Tape(), 1.0 / rate
    free, due_of, send = crowd.free, crowd.due, crowd.send
    clock = time.perf_counter
    due = clock()
    end = due + seconds
    while due < end:
        now = clock()
        while due <= now and free:
            number = free.popleft()
            due_of[number] = due
            send[number](request)
            tape.delays.append(now - due)
            due += interval
        crowd.receive(tape)
        if now > end + PATIENCE_SECONDS:
            break  # far too slow: what is still due is never sent, and is counted
    while due_of and clock() < end + 2 * PATIENCE_SECONDS:
        crowd.receive(tape)
    return tape


def summary(tape: Tape, rate: float, seconds: float) -> dict[str, float]:
    latencies, delays = sorted(tape.latencies), sorted(tape.delays)
    return {
        "rate": rate,
        "reached": len(latencies) / (rate * seconds),
        "p50": microseconds(latencies, 0.5),
        "p99": microseconds(latencies, 0.99),
        "p999": microseconds(latencies, 0.999),
        "sent_late_p99": microseconds(delays, 0.99),
        "refused": tape.refused,
    }


def microseconds(values: list[float], quantile: float) -> float:
    return round(values[int(quantile * (len(values) - 1))] * 1e6, 1)


def main() -> None:
    parser = ArgumentParser(description="Send requests at a constant rate.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--connections", type=int, required=True)
    options = parser.parse_args()
    request = sys.stdin.buffer.read()
    crowd = Crowd(options.port, options.connections)
    gc.disable()
    send_at(crowd, request, options.rate, WARM_SECONDS)
    tape = send_at(crowd, request, options.rate, options.seconds)
    print(json.dumps(summary(tape, options.rate, options.seconds)))


if __name__ == "__main__":
    main()
