"""Any bytes on a connection to the API, split into packets in any way.

There is no exception and no 500, and every answer is well-formed. The answers do not
depend on how the bytes are split, nor on whether heads are recognized or parsed. A
complete request before the bytes is answered. No key is in the head of an answer, in
the patterns of known heads or in the journal. `KEY` stands for an existing key.
"""

import random
import re
from functools import cache
from zlib import crc32

from readback.http.meaning import Heads
from readback.keys import KEY_LIKE
from tests.support.streams import answers_of, rows_of
from tests.support.wire import parse_head
from tests.support.work import Worker

# Longer inputs find nothing new, and are slow.
MAX_BYTES = 40_000
_MAX_PIECES = 150
_RANDOM_CUTS = 6
_MAX_CUTS = 1000
_VARIANTS = 8
_PIECES = [b"", *(b"%c" % byte for byte in b" \t\r\n\0\x7f\xff:,a7")]
_COMPLETE = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\n\r\n"


@cache
def _worker() -> Worker:
    worker = Worker()

    def fail(error: Exception, head: object) -> bytes:
        raise error

    worker.api.fail = fail  # type: ignore[method-assign]
    return worker


def check(data: bytes) -> None:
    worker = _worker()
    with worker.loop:
        worker.forget()
        _check(worker, data[:MAX_BYTES].replace(b"KEY", worker.key.encode()))


def check_every_cut(data: bytes) -> None:
    """Compare the answers for all ways to split a short input into two packets."""
    worker = _worker()
    with worker.loop:
        worker.forget()
        data = data.replace(b"KEY", worker.key.encode())
        whole = answers_of(worker, [data])
        for at in range(1, min(len(data), _MAX_CUTS)):
            assert answers_of(worker, [data[:at], data[at:]]) == whole, at


def _check(worker: Worker, data: bytes) -> None:
    whole = answers_of(worker, [data])
    _assert_well_formed(whole, data)
    _assert_no_key(worker, whole)
    for pieces in (_byte_by_byte(data), _at_random(data)):
        assert answers_of(worker, pieces) == whole, f"cut into {pieces}"
        at_once = answers_of(worker, pieces, in_one_round=True)
        assert at_once == whole, f"cut into {pieces}, in one round"
    complete = _COMPLETE.replace(b"KEY", worker.key.encode())
    answered = answers_of(worker, [complete + data])
    assert answered == answers_of(worker, [complete]) + whole, "after another request"
    together = answers_of(worker, [data * 3])
    assert answers_of(worker, [data] * 3) == together, "sent three times"
    # By now, the head of a complete request is recognized.
    for other in _others_like(data):
        recognised = answers_of(worker, [other])
        assert recognised == _parsed(worker, other), f"after another head: {other!r}"


def _parsed(worker: Worker, data: bytes) -> bytes:
    """Return the answers of a server that parses every head."""
    recognising = worker.registry.heads
    worker.registry.heads = Heads(worker.api.describe, worker.limits.head_fields)
    try:
        return answers_of(worker, [data])
    finally:
        worker.registry.heads = recognising


def _others_like(data: bytes) -> list[bytes]:
    """Return variants of the input with a byte or a line changed in the head."""
    chance = random.Random(crc32(data) + 1)
    head, end, rest = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    found = []
    for _ in range(_VARIANTS):
        changed = lines.copy()
        at = chance.randrange(len(lines))
        line = lines[at]
        place = chance.randrange(len(line) + 1)
        more = chance.choice(_PIECES)
        change = chance.randrange(4)
        if change == 0:
            changed[at] = line[:place] + more + line[place:]
        elif change == 1:
            changed[at] = line[:place] + more + line[place + 1 :]
        elif change == 2:
            changed.insert(chance.randrange(len(lines) + 1), line)
        else:
            changed.remove(line)
        found.append(b"\r\n".join(changed) + end + rest)
    return found


def _byte_by_byte(data: bytes) -> list[bytes]:
    size = 1 + len(data) // _MAX_PIECES
    return [data[start : start + size] for start in range(0, len(data), size)]


def _at_random(data: bytes) -> list[bytes]:
    """Cut the data at places that depend only on it: findings must be reproducible."""
    chance = random.Random(crc32(data))
    places = {chance.randint(0, len(data)) for _ in range(_RANDOM_CUTS)}
    marks = sorted({0, len(data), *places})
    return [data[a:b] for a, b in zip(marks, marks[1:], strict=False)]


def _assert_well_formed(answers: bytes, data: bytes) -> None:
    without_body = 0
    while answers:
        head, end, answers = answers.partition(b"\r\n\r\n")
        assert end, f"an answer without an end: {head!r}"
        status, _, headers = parse_head(head)
        assert status < 500 or status == 501, f"status {status}"
        [length] = [int(v) for name, v in headers if name == "Content-Length"]
        if not answers or answers.startswith(b"HTTP/1.1 "):
            without_body += 1
            continue
        body = answers[:length]
        answers = answers[length:]
        assert body.startswith(b"{") and body.endswith(b"}"), f"a body {body!r}"
    assert without_body <= data.count(b"HEAD "), "an answer without its body"


def _assert_no_key(worker: Worker, answers: bytes) -> None:
    heads = re.findall(rb"HTTP/1\.1 .*?\r\n\r\n", answers, re.DOTALL)
    patterns = getattr(worker.registry.heads, "_patterns")  # noqa: B009
    kept = repr([*heads, patterns, rows_of(worker)])
    assert not KEY_LIKE.search(kept), "a key was kept or sent"
