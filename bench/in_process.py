"""Readback's work for a request without a socket, a database or a clock.

The real connections and the real API get the bytes that they would receive, and write
to transports that only store them. The clock is stopped, so the work does not vary.

It runs as a separate process, `python -m bench.in_process KIND`: it prints a line when
it is ready, sends as many requests as each line on standard input says, and prints a
line when it has done so.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice, repeat
from typing import Any, cast

from tests.support.work import StoringTransport, Worker

from bench import messages, traffic
from bench.load import CONNECTIONS
from readback import keys
from readback.api.endpoints import exchange
from readback.http import flow_control

PORT = 8000
Send = Callable[[int], StoringTransport]
"""Sends a number of requests; returns the transport of the last response."""


def repeated(worker: Worker, content: str = messages.SHORT) -> Send:
    """Repeat one request on one connection."""
    [request] = traffic.one_key(worker.keys)
    return _on_kept(worker, 1, [request.with_content(content).to_bytes(PORT)])


def many_clients(worker: Worker, kind: str = traffic.MANY_CLIENTS) -> Send:
    """Send the requests of many clients on the connections of a balancer."""
    known = [keys.mint() for _ in range(traffic.KEYS)]
    for key in known:
        worker._add_key(keys.digest(key.encode()))
    sent = [request.to_bytes(PORT) for request in traffic.KINDS[kind](known)]
    # One fewer: with 32 connections, each would only ever carry every eighth key.
    return _on_kept(worker, CONNECTIONS - 1, sent)


def any_text(worker: Worker) -> Send:
    return many_clients(worker, traffic.ANY_TEXT)


def any_address(worker: Worker) -> Send:
    return many_clients(worker, traffic.ANY_ADDRESS)


def request_ids(worker: Worker) -> Send:
    return many_clients(worker, traffic.REQUEST_IDS)


def new_connections(worker: Worker) -> Send:
    """Open a connection for each request, and close it afterwards."""
    [request] = traffic.new_connections(worker.keys)
    sent = request.to_bytes(PORT)

    def send(count: int) -> StoringTransport:
        for _ in range(count):
            connection, transport = worker.connect()
            connection.data_received(sent)
            if worker.loop.callbacks:
                worker.settle()
            connection.connection_lost(None)
        return transport

    return send


def ascii_texts(worker: Worker) -> Send:
    return repeated(worker, messages.LONG_ASCII)


def cyrillic_texts(worker: Worker) -> Send:
    return repeated(worker, messages.LONG_CYRILLIC)


def driver(worker: Worker) -> Send:
    """Only send and store: the overhead that every other count includes."""
    return _on_kept(worker, 1, [b""], _Constant)


class _Constant:
    def __init__(self, transport: StoringTransport) -> None:
        self._write = transport.write

    def data_received(self, data: bytes) -> None:
        self._write(b"HTTP/1.1 200 OK\r\n\r\n")


KINDS: dict[str, Callable[[Worker], Send]] = {
    kind.__name__: kind
    for kind in (
        *(repeated, many_clients, any_text, any_address, request_ids),
        *(new_connections, ascii_texts, cyrillic_texts, driver),
    )
}


def main(kind: str) -> None:
    worker = Worker()
    # The API asks `get_running_loop` for its loop, which now returns this one.
    asyncio._set_running_loop(cast(asyncio.AbstractEventLoop, worker.loop))
    send = KINDS[kind](worker)
    # Stop the clock: the first answer to a key in each second takes more work, and how
    # many requests a connection answers in a row depends on the time.
    still = repeat(time.monotonic()).__next__
    for module in (flow_control, exchange):
        module.monotonic = still  # type: ignore[attr-defined]
    # A worker also does this after its start.
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        response = send(int(line)).response
        if not response.startswith(b"HTTP/1.1 200 "):
            raise AssertionError(f"a request was refused: {response[:60]!r}")
        print("done", flush=True)
    asyncio._set_running_loop(None)


def _on_kept(
    worker: Worker,
    connections: int,
    requests: Sequence[bytes],
    connection_of: Callable[[StoringTransport], Any] | None = None,
) -> Send:
    """Cycle through the requests and through the connections."""
    clients: list[tuple[Any, StoringTransport]] = [
        worker.connect() for _ in range(connections)
    ]
    if connection_of:
        clients = [(connection_of(transport), transport) for _, transport in clients]
    pairs = zip(cycle(clients), cycle(requests), strict=False)

    def send(count: int) -> StoringTransport:
        for client, request in islice(pairs, count):
            client[0].data_received(request)
            # The loop does other work after all connections have sent a request.
            if client is clients[-1] and worker.loop.callbacks:
                worker.settle()
        worker.settle()
        return client[1]

    return send


if __name__ == "__main__":
    main(sys.argv[1])
