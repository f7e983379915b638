"""A recognized head means the same as a parsed one, whatever differs in it."""

import tracemalloc

import pytest
from tests.support.work import Worker

from readback import keys
from readback.http import recognition
from readback.http.head import Head, Refused
from readback.http.meaning import Heads
from readback.http.recognition import MAX_PATTERNS, RecognisedHeads

MAX_FIELDS = 100
READ_FIELDS = frozenset([b"x-old"])
# A handler's description of a head.
Info = tuple[bytes, bytes, list[bytes]]


def describe(head: Head) -> Info:
    return head.method, head.target, head.all(b"x-old")


def heads() -> RecognisedHeads[Info]:
    return RecognisedHeads(
        describe, MAX_FIELDS, READ_FIELDS, lambda data: b"secret" in data
    )


PARSED = Heads(describe, MAX_FIELDS)
HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer %b\r\nContent-Length: 5\r\n\r\n"
)


def said_by_head(data: bytes, known: Heads[Info]) -> list[object]:
    """Return everything that a head says, or why it is refused."""
    try:
        meaning, *beside = known.understand(data)
    except Refused as refused:
        return [refused.code, refused.detail]
    said = vars(meaning) | {"is_learned": None}
    return [*beside, *said.values()]


def accept(data: bytes, known: RecognisedHeads[Info]) -> bool:
    """Learn from a head whose key was accepted; return whether it is recognized now."""
    known.tick()
    meaning, *_ = known.understand(data)
    known.note_accepted(data, meaning)
    return known.understand(data)[0] is meaning and meaning.is_learned


def head_with(lines: list[bytes]) -> bytes:
    return b"\r\n".join([b"GET / HTTP/1.1", b"Host: x", *lines, b"", b""])


def assert_read_alike(lines: list[bytes], known: RecognisedHeads[Info]) -> None:
    """Check that a head is read as if it were parsed; learn from it if it is valid."""
    data = head_with(lines)
    said = said_by_head(data, PARSED)
    assert said_by_head(data, known) == said
    if len(said) > 2:  # a refusal has only a code and a detail
        accept(data, known)
        assert said_by_head(data, known) == said


# Unusual lines; some of them are refused.
ODD_LINES = [
    *[b"Authorization: bearer alice", b"Authorization:  Bearer alice"],
    *[b"Authorization: Bearer  alice", b"Authorization: Bearer alice "],
    *[b'Authorization: Bearer "alice"', b"Authorization: Bearer alice bob"],
    *[b"AUTHORIZATION: Bearer alice", b"AUTHORIZATION: Basic YTpi"],
    *[b"Authorization: Bearer", b"Authorization: Bearer ", b"Authorization: Bearerbob"],
    *[b"Authorization: Bearer a\x00b", b"Authorization: Bearer a\nb"],
    *[b"Authorization: Bearer a\rb", b"Authorization: Bearer a\x7fb"],
    *[b"X-Authorization: Bearer alice", b"Proxy-Authorization: Bearer alice"],
    *[b"X: Authorization: Bearer alice", b"X-Old: Bearer alice"],
    *[b"X-Request-Id", b"X-Request-Id : 1", b" X-Request-Id: 1", b"X Request-Id: 1"],
    *[b"X-Request-Id: a\x00b", b"X-Request-Id: a\nb", b"X-Request-Id: a\tb"],
    *[b"X-Forwarded-For: 192.0.2.1 ", b"X-Forwarded-For:  192.0.2.1"],
    *[b"X-Forwarded-For: ", b"X-Forwarded-For: unknown", b"Host: y"],
    *[b"Content-Length: ", b"Content-Length: 5, 5", b"Content-Length: 5 "],
    *[b"Content-Length: 99999999999", b"Content-Length: " + b"9" * 5000],
    *[b"Content-Length: " + b"0" * 20 + b"5", b"Transfer-Encoding: chunked"],
    # Lines that are valid, but mean something else or are written in another way.
    *[b"Content-Length: 007", b"content-length:  6", b"authorization: Bearer bob"],
    *[b"X-Forwarded-For: ::1, 192.0.2.1", b"x-forwarded-for:a", b"X-Old: 1"],
    *[b"Connection: close", b"Expect: 100-continue", b"X-Name: \xc3\xa4"],
    *[b"User-Agent: alice/1", b"user-agent: bob/1", b"USER-AGENT: bob/1"],
]


@pytest.mark.parametrize("odd", ODD_LINES)
def test_an_odd_line_among_usual_ones_is_read_as_in_a_new_head(odd: bytes) -> None:
    known = heads()
    usual = [b"Authorization: Bearer alice", b"X-Request-Id: 1", b"Content-Length: 5"]
    usual.append(b"X-Forwarded-For: 192.0.2.1")
    assert accept(head_with(usual), known)
    for lines in (
        [odd, *usual],
        *([*usual[:n], odd, *usual[n + 1 :]] for n in range(4)),
    ):
        assert_read_alike(lines, known)
        assert_read_alike(usual, known)


def test_a_chunked_head_is_distinguished_from_one_with_a_length() -> None:
    usual = [b"Authorization: Bearer alice", b"Content-Length: 5"]
    chunked = [usual[0], b"Transfer-Encoding: chunked"]
    for pair in ([chunked, usual], [usual, chunked]):
        known = heads()
        for lines in [*pair, *pair]:
            assert accept(head_with(lines), known)
            assert_read_alike(lines, known)
        assert known.understand(head_with(chunked))[0].chunked


def test_one_pattern_recognises_all_heads_of_a_program() -> None:
    known = heads()
    lines = b"X-Forwarded-For: 10.0.0.%d\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n"
    data = HEAD.replace(b"Content-Length: 5\r\n", lines)
    assert accept(data % (b"alice", 1, 1, 1), known)
    learned, *_ = known.understand(data % (b"alice", 1, 1, 1))
    for number in (3, 10, 99):
        meaning, *beside = known.understand(
            data % (b"key%d" % number, number, number, number)
        )
        assert meaning is learned
        assert beside == [b"key%d" % number, b"10.0.0.%d" % number, number]


def test_a_client_without_an_accepted_key_teaches_and_evicts_nothing() -> None:
    worker = Worker()
    heads = worker.registry.heads
    accepted, stranger = (HEAD % key.encode() for key in (worker.key, keys.mint()))
    sent = [accepted]
    for number in range(2 * MAX_PATTERNS):
        sent.append(stranger.replace(b"Host", b"User-Agent: %d\r\nHost" % number))
        sent.append(stranger.replace(b"Authorization", b"X-Key-%d" % number))
    with worker.loop:
        for head in sent:
            heads.tick()
            connection, _ = worker.connect()
            connection.data_received(head + b"hello")
            worker.settle()
            connection.connection_lost(None)
    assert sum(map(len, heads._patterns.values())) == 1
    assert heads.understand(accepted)[0].is_learned


def test_the_patterns_are_bounded() -> None:
    known = heads()
    head = (
        b"GET /%d HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n"
        b"User-Agent: %d\r\n\r\n"
    )
    for number in range(3 * MAX_PATTERNS):
        assert accept(head % (number, number), known)
        assert accept(head % (number, 0), known)
        assert sum(map(len, known._patterns.values())) <= MAX_PATTERNS
        assert len(known._patterns[b"0"]) <= 2
    # A program's last two patterns are kept.
    assert known.understand(head % (number, 0))[0].is_learned
    assert known.understand(head % (number - 1, 0))[0].is_learned


def test_only_a_few_patterns_are_made_per_tick() -> None:
    known = heads()
    known.tick()
    learned = 0
    for number in range(20):
        data = HEAD.replace(b"Host", b"User-Agent: %d\r\nHost" % number) % b"alice"
        meaning, *_ = known.understand(data)
        known.note_accepted(data, meaning)
        learned += meaning.is_learned
    assert learned == recognition._MADE_PER_TICK


@pytest.mark.parametrize(
    "lines",
    [
        [b"User-Agent: my-secret/1"],
        [b"X-Old: secret"],
        [b"My-Secret: 1".lower()],
        [b"X-Old: %b" % (b"a" * 2000)],
        [b"X-%d: 1" % number for number in range(50)],
        [b"X-Forwarded-For: 192.0.2.1", b"X-Forwarded-For: 192.0.2.1"],
    ],
    ids=["program", "value", "name", "long", "many", "twice"],
)
def test_what_must_not_be_kept_is_parsed_each_time(lines: list[bytes]) -> None:
    known = heads()
    assert not accept(head_with([b"Authorization: Bearer alice", *lines]), known)


def test_heads_designed_to_differ_use_little_memory() -> None:
    known = heads()
    made = 8  # tracing the memory of all patterns would take too long
    many = [b"X-Old: %017d" % field for field in range(36)]  # a thousand bytes
    tracemalloc.start()
    try:
        for number in range(made):
            assert accept(head_with([b"User-Agent: %d" % number, *many]), known)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept * MAX_PATTERNS / made < 2 << 20, kept
