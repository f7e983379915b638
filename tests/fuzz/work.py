"""Any shape of a body or of a header field, repeated up to the limit of a request.

The input is a beginning, a part to repeat and an ending, separated by `|`. No such
request may take more work than `tests/worst_cases` allows. The work is counted with
valgrind, which is slow, and therefore only for requests that took long.
"""

import os
import tempfile
import time
from pathlib import Path
from unittest import mock

from readback.contract import MAX_BODY_BYTES
from tests.worst_cases import counting
from tests.worst_cases.api import (
    HEAD_BYTES,
    MOST_PER_REQUEST,
    OTHER_HEAD_BYTES,
    key,
    request,
    send,
)
from tests.worst_cases.counting import WorstCase

# The variable that tells the counting process which file contains the request.
_FOUND = "READBACK_FUZZ_FOUND"
# Three times the promise, because the fuzzer instruments the code.
_SUSPICIOUS_SECONDS = 0.015

# Stands for the key in the file, because each process has its own key.
_KEY = b"<key>"
CASES = [
    WorstCase("found", send, lambda size: [_found()], 4)
    for _ in range(_FOUND in os.environ)
]


def check(data: bytes) -> None:
    before, unit, after = [*data.split(b"|", 2), b"", b""][:3]
    for raw in (_as_body(before, unit, after), _as_field(before + unit + after)):
        if _seconds(raw) > _SUSPICIOUS_SECONDS and not counting.why_not():
            assert count(raw) <= MOST_PER_REQUEST, "a request takes too much work"


def _as_body(before: bytes, unit: bytes, after: bytes) -> bytes:
    room = MAX_BODY_BYTES - len(before) - len(after)
    return request(before + unit * (room // max(1, len(unit))) + after)


def _as_field(line: bytes) -> bytes:
    room = HEAD_BYTES - OTHER_HEAD_BYTES
    return request(b"{}", fields=line * (room // max(1, len(line))) + b"\r\n")


def _seconds(raw: bytes) -> float:
    durations = []
    for _ in range(3):
        begun = time.thread_time()
        send([raw])
        durations.append(time.thread_time() - begun)
    return min(durations)


def count(raw: bytes) -> int:
    """Return how much work a request takes, counted in another process."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw.replace(key(), _KEY, 1))
        file.flush()
        with mock.patch.dict(os.environ, {_FOUND: file.name}):
            return max(counting.count(__name__)["found"])


def _found() -> bytes:
    return Path(os.environ[_FOUND]).read_bytes().replace(_KEY, key(), 1)
