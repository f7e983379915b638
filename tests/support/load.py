"""Many requests in a short time, sent without waiting for answers.

Answers are only counted, by status; `wire.py` reads answers strictly.
"""

import re
import socket
import threading
from collections import Counter
from collections.abc import Iterable

from tests.support.waiting import PATIENCE
from tests.support.wire import Endpoint, request

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_LONGEST_MATCH = len(b"HTTP/1.1 200 ")


def pipeline(endpoint: Endpoint, requests: Iterable[bytes]) -> Counter[int]:
    """Send requests on one connection without waiting; return answers by status."""
    expected = list(requests)
    with socket.create_connection((endpoint.host, endpoint.port), PATIENCE) as sock:
        sender = threading.Thread(target=sock.sendall, args=[b"".join(expected)])
        sender.start()
        try:
            return _count(sock, len(expected))
        finally:
            sender.join()


def spread(endpoint: Endpoint, requests: list[bytes], connections: int) -> Counter[int]:
    """Send requests on several connections at once; return answers by status."""
    counts: list[Counter[int]] = []

    def send(part: list[bytes]) -> None:
        counts.append(pipeline(endpoint, part))

    parts = [requests[number::connections] for number in range(connections)]
    threads = [threading.Thread(target=send, args=[part]) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == connections, "a connection was cut off"
    return sum(counts, Counter())


def models(endpoint: Endpoint, key: str) -> bytes:
    """Return a request for the list of models."""
    fields = [("Host", endpoint.authority), ("Authorization", f"Bearer {key}")]
    return request("GET", "/v1/models", fields)


def _count(sock: socket.socket, expected: int) -> Counter[int]:
    counts: Counter[int] = Counter()
    tail = b""
    while counts.total() < expected:
        data = sock.recv(1 << 18)
        assert data, f"closed after {counts.total()} of {expected} answers"
        text = tail + data
        matches = list(_STATUS.finditer(text))
        counts.update(int(match[1]) for match in matches)
        seen = matches[-1].end() if matches else 0
        tail = text[max(seen, len(text) - _LONGEST_MATCH) :]
    return counts
