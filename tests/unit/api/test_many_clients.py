"""Many clients on one connection are answered as if each had its own.

Behind a proxy, one connection carries the requests of many clients. Whatever is kept
from one request for the next, every answer and every row of a journal is the same as on
a new connection to a worker that has read nothing yet.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.api import CHAT, MODELS, compact, draft
from tests.support.keys import mistyped
from tests.support.streams import Row, answers_of, rows_of
from tests.support.wire import request
from tests.support.work import Worker

from readback.api.shared.limiter import Limiter


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    with worker.loop:
        yield worker


# What differs between the requests of one stream: few values, so that most of them are
# of a kind that was read before.
TEMPLATES = st.sampled_from(
    [
        ("chat", ["X-Forwarded-For"]),
        ("chat", ["X-Forwarded-For", "X-Request-Id"]),
        ("chat", ["X-Request-Id", "User-Agent"]),
        ("chat", ["Prefer", "X-Forwarded-For"]),
        ("models", ["X-Forwarded-For"]),
        ("nowhere", ["X-Forwarded-For"]),
    ]
)
VALUES = {
    # With one program: so few callers that each has a row of its own.
    "X-Forwarded-For": st.sampled_from(
        ["192.0.2.1", "192.0.2.1, 203.0.113.1", "", " 192.0.2.1 "]
    ),
    "X-Request-Id": st.text("01", max_size=3),
    "User-Agent": st.just("one/1"),
    "Prefer": st.just("explain"),
}
BODIES = st.one_of(
    st.text("ab", min_size=1, max_size=3).map(draft),
    st.sampled_from([draft("two\nlines"), draft("два"), draft("x", stream=True), {}]),
).map(compact)


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, bool, bytes]]:
    """Return requests: the number of a key, whether it is mistyped, and the bytes."""
    templates = draw(st.lists(TEMPLATES, min_size=1, max_size=2))
    return [
        (
            draw(st.integers(0, 1)),
            draw(st.integers(0, 9)) == 0,
            _request(draw, *draw(st.sampled_from(templates))),
        )
        for _ in range(draw(st.integers(2, 10)))
    ]


def _request(draw: st.DrawFn, kind: str, names: list[str]) -> bytes:
    lines = [
        ("Host", "x"),
        ("Content-Type", "application/json"),
        ("Authorization", "$"),
    ]
    lines += [(name, draw(VALUES[name])) for name in names]
    if kind != "chat":
        return request("GET", MODELS if kind == "models" else "/nowhere", lines)
    body = draw(BODIES)
    return request("POST", CHAT, [*lines, ("Content-Length", str(len(body)))], body)


@settings(max_examples=60)
@given(drawn=streams(), places=st.lists(st.floats(0, 1), max_size=12))
def test_every_request_is_answered_as_on_a_new_connection(
    worker: Worker, drawn: list[tuple[int, bool, bytes]], places: list[float]
) -> None:
    raw = [_with_key(worker, *each) for each in drawn]
    stream = b"".join(raw)
    marks = sorted({0, len(stream), *(int(place * len(stream)) for place in places)})
    split = [stream[a:b] for a, b in zip(marks, marks[1:], strict=False)]

    alone, rows = b"", Counter[Row]()
    for each in raw:
        worker.forget()
        alone += answers_of(worker, [each])
        rows += rows_of(worker)
    assert _on_one_connection(worker, raw) == (alone, rows)
    assert _on_one_connection(worker, [*raw, *raw]) == (alone + alone, rows + rows)
    assert _on_new_connections(worker, [*raw, *raw]) == (alone + alone, rows + rows)
    assert _on_one_connection(worker, [stream]) == (alone, rows)
    assert _on_one_connection(worker, split) == (alone, rows)
    assert _on_one_connection(worker, split, in_one_round=True) == (alone, rows)


@pytest.mark.parametrize("batch", [1, 7, 48], ids="{} at once".format)
def test_a_rate_that_ends_within_a_batch_refuses_the_rest_in_order(
    worker: Worker, batch: int
) -> None:
    # An hour per request: nothing is refilled on a slow machine.
    limited = Worker(Limiter(1 / 3600, 24))
    limited.loop = worker.loop
    key, other = (key.encode() for key in limited.keys[:2])
    usual = [_chat(limited, b'"usual"')] * 4
    raw = [_chat(limited, b'"text %d"' % n) for n in range(48)]
    # One request in three has a key with a rate of its own.
    raw = [each if n % 3 else each.replace(key, other) for n, each in enumerate(raw)]
    packets = [b"".join(raw[at : at + batch]) for at in range(0, len(raw), batch)]
    answers = answers_of(limited, [*usual, *packets])

    found = re.findall(rb'HTTP/1.1 (\d+)|"content":"([^"]+)"', answers)
    told = iter(status or text.decode() for status, text in found)
    assert [next(told) for _ in range(8)] == [b"200", "usual"] * 4
    left = 24 - len(usual)
    for number in range(48):
        left -= number % 3 > 0
        if left < 0 and number % 3:
            assert next(told) == b"429", number
        else:
            assert (next(told), next(told)) == (b"200", f"text {number}")
    assert next(told, None) is None


# Texts as they are written in a body, valid or not: a beginning, how often it is
# repeated up to each limit, and an end.
LETTERS = st.text('ab\n"\\\0\ufeffя😀/', max_size=9)
WRITTEN = LETTERS.map(json.dumps) | LETTERS.map(partial(json.dumps, ensure_ascii=False))
TEXTS = st.one_of(
    st.tuples(WRITTEN.map(str.encode), st.just(1), st.just(b"")),
    st.tuples(
        st.sampled_from([b"a", "я".encode(), "😀".encode(), b"\\n", b"\\u044f"]),
        st.sampled_from([64, 128, 256, 2048, 4096, 5400, 8192]),
        st.sampled_from([b"", b"b", b"\\n", b"\xff", b"\\ud800", b'"', b"\0", b"\\"]),
        # A longer body would end the connection.
    ).filter(lambda text: len(text[0]) * text[1] < 32_600),
    st.tuples(
        st.sampled_from([b"null", b'" ', b' ""', b'"a" ', b'"a","content":"b"', b'"']),
        st.just(1),
        st.just(b""),
    ),
)
FRAME = compact(draft("TEXT")).split(b'"TEXT"')


@settings(max_examples=100)
@given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_a_text_is_answered_as_if_nothing_was_known(
    worker: Worker, texts: list[tuple[bytes, int, bytes]]
) -> None:
    """A text that was answered before makes no difference."""
    raw = [_chat(worker, _quoted(*text)) for text in texts]
    usual = [_chat(worker, b'"usual"')] * 4
    alone, rows = b"", Counter[Row]()
    for each in [*usual, *raw]:
        worker.forget()
        alone += answers_of(worker, [each])
        rows += rows_of(worker)
    assert _on_one_connection(worker, [*usual, *raw]) == (alone, rows)
    assert _on_new_connections(worker, [*usual, *raw]) == (alone, rows)


def _quoted(unit: bytes, times: int, end: bytes) -> bytes:
    return unit if times == 1 else b'"%b%b"' % (unit * times, end)


def _chat(worker: Worker, text: bytes) -> bytes:
    body = text.join(FRAME)
    lines = [
        ("Host", "x"),
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {worker.key}"),
        ("Content-Length", str(len(body))),
    ]
    return request("POST", CHAT, lines, body)


def _with_key(worker: Worker, number: int, wrong: bool, raw: bytes) -> bytes:
    key = worker.keys[number]
    key = mistyped(key) if wrong else key
    return raw.replace(b"Authorization: $", b"Authorization: Bearer " + key.encode())


def _on_one_connection(
    worker: Worker, packets: Sequence[bytes], in_one_round: bool = False
) -> tuple[bytes, Counter[Row]]:
    worker.forget()
    return answers_of(worker, list(packets), in_one_round), rows_of(worker)


def _on_new_connections(
    worker: Worker, requests: Sequence[bytes]
) -> tuple[bytes, Counter[Row]]:
    worker.forget()
    return b"".join(answers_of(worker, [each]) for each in requests), rows_of(worker)
