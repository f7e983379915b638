"""What a stranger or a key's holder can send to make the API work hardest.

Each shape is a whole request, or one that is refused halfway, on a new connection to
the real API whose transport only stores bytes. Some begin in a state that other clients
prepared. `test_work.py` counts the work.
"""

from collections.abc import Callable
from functools import cache

from readback import keys
from readback.contract import MAX_BODY_BYTES
from readback.http.recognition import MAX_PATTERNS
from tests.support.work import Worker
from tests.worst_cases.counting import WorstCase

# A request costs a worker at most 5 ms. One of our machines, when idle, executes 0.6
# million blocks of such work per millisecond with Python 3.11, and 0.7 million with
# 3.12, which needs more blocks for the same work.
MOST_PER_REQUEST = 3_000_000
MODEL = b'"model":"vendor-cabinet-preview-echo"'
MESSAGES = b'"messages":[{"role":"user","content":"Ready to copy?"}]'
HEAD_BYTES = 16_384
# Room for the rest of a head, besides the part that grows.
OTHER_HEAD_BYTES = 384

Shape = Callable[[int], bytes]


@cache
def _worker() -> Worker:
    return Worker()


@cache
def _prepared_worker() -> Worker:
    """Return a worker whose state was prepared by someone with a key.

    It knows as many patterns as possible. The two for heads like those in the cases are
    as long as possible, and differ from those heads only in the last line. On hundreds
    of connections, heads are unfinished, messages wait, or answers are unread.
    """
    worker = Worker()
    worker._add_key(keys.digest(key()))
    with worker.loop:
        for number in range(MAX_PATTERNS):
            _teach(worker, b"User-Agent: %d\r\n" % number)
        lines = numbered(b"X-%d:", 300, b"\r\n") + b"\r\n"
        for last in (b"Te: a\r\n", b"Te: b\r\n"):
            _teach(worker, lines + last)
        for _ in range(200):
            for data in (request(b"{}")[:-9], request(b"{}") * 20, lines):
                connection, _ = worker.connect()
                connection.data_received(data)
        connection.pause_writing()
    return worker


def _teach(worker: Worker, fields: bytes) -> None:
    heads = worker.registry.heads
    heads.tick()
    head = request(fields=fields).removesuffix(b"{}")
    meaning, *_ = heads.understand(head)
    heads.note_accepted(head, meaning)
    assert meaning.is_learned


def key() -> bytes:
    """Return the key of all requests. Each process creates its own."""
    return _worker().key.encode()


def send(pieces: list[bytes]) -> None:
    """Send one request in packets, and let the API do everything that it causes."""
    worker = _worker()
    with worker.loop:
        worker.forget()
        _send(worker, pieces, worker.settle)


def send_to_prepared(pieces: list[bytes]) -> None:
    """Send one request in packets to a worker in a prepared state."""
    worker = _prepared_worker()
    with worker.loop:
        # The requests of other clients continue to wait.
        _send(worker, pieces, worker.registry.pending.flush)


def _send(worker: Worker, pieces: list[bytes], settle: Callable[[], None]) -> None:
    connection, transport = worker.connect()
    for piece in pieces:
        connection.data_received(piece)
        settle()
    if not transport.response:
        connection.check(1e12)  # as if the rest had not arrived in time
        settle()
    connection.connection_lost(None)
    assert transport.response, "no answer"


def request(
    body: bytes = b"",
    *,
    method: bytes = b"POST",
    target: bytes = b"/v1/chat/completions",
    fields: bytes = b"",
    framing: bytes | None = None,
) -> bytes:
    if framing is None:
        framing = b"Content-Length: %d\r\n" % len(body)
    return (
        b"%b %b HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAuthorization: Bearer %b\r\n"
        b"Content-Type: application/json\r\n%b%b\r\n%b"
    ) % (method, target, key(), fields, framing, body)


def repeated(unit: bytes, size: int, separator: bytes = b"") -> bytes:
    return separator.join([unit] * (size // (len(unit) + len(separator))))


def numbered(form: bytes, size: int, separator: bytes = b",") -> bytes:
    """Return as many different units as fit; each contains six digits."""
    count = size // (len(form % 100_000) + len(separator))
    return separator.join(form % (100_000 + n) for n in range(count))


def in_body(before: bytes, unit: bytes, after: bytes, separator: bytes = b"") -> Shape:
    room = len(before) + len(after)
    return lambda size: before + repeated(unit, size - room, separator) + after


def messages_of(unit: bytes) -> Shape:
    return in_body(b'{%b,"messages":[' % MODEL, unit, b"]}", b",")


def text_of(unit: bytes) -> Shape:
    before = b'{%b,"messages":[{"role":"user","content":"' % MODEL
    return in_body(before, unit, b'"}]}')


def fields_of(form: bytes, before: bytes = b"", after: bytes = b"") -> Shape:
    before = before or b"{%b,%b," % (MODEL, MESSAGES)
    room = len(before) + len(after) + 1
    return lambda size: before + numbered(form, size - room) + after + b"}"


BODIES: dict[str, Shape] = {
    "messages that are numbers": messages_of(b"1"),
    "messages of a user": messages_of(b'{"role":"user"}'),
    "unknown fields": fields_of(b'"f%d":1'),
    "unknown fields with objects": fields_of(b'"f%d":{}'),
    "unknown fields whose names are not quoted": fields_of(b'"\xd0\xb0%d":1'),
    "unknown fields whose names look like keys": fields_of(b'"sk-abcdef%d":1'),
    "unknown fields and a repeated one": fields_of(b'"f%d":1', after=b',"f100000":1'),
    "a repeated field": in_body(b"{", b'"model":1', b"}", b","),
    "a long name": in_body(b'{"', b"a", b'":1}'),
    "nested arrays": in_body(b"", b"[", b""),
    "nested objects": in_body(b"", b'{"a":', b""),
    "nesting, then escaped quotes": in_body(b"[" * 501 + b'"', b'\\"', b""),
    "arrays side by side": in_body(b"[", b"[]", b"]", b","),
    "numbers": in_body(b"[", b"1", b"]", b","),
    "one long number": in_body(b'{%b,"max_tokens":' % MODEL, b"9", b"}"),
    "white space": in_body(b"", b" ", b""),
    "quotes": in_body(b"", b'"', b""),
    "backslashes": in_body(b'"', b"\\", b""),
    "a text that does not end": in_body(b'"', b"a", b""),
    "colons": in_body(b"", b":", b""),
    "a text that is too long": text_of(b"a"),
    "a text that is too long, in Cyrillic": text_of("а".encode()),
    "escaped letters": text_of(b"\\u0430"),
    "lone surrogates": text_of(b"\\ud83d"),
    "escaped quotes": text_of(b'\\"'),
    "text like a body": text_of(b'\\"content\\":'),
    "a model": in_body(b'{"model":"', b"sk-", b'",%b}' % MESSAGES),
    "parts of a text": in_body(
        b'{%b,"messages":[{"role":"user","content":[' % MODEL,
        b'{"type":"text","text":"x"}',
        b"]}]}",
        b",",
    ),
}


def chunks_of(line: bytes, end: bytes = b"0\r\n\r\n") -> Shape:
    """Return a factory of requests whose one-byte chunks begin with this line."""

    def make(size: int) -> bytes:
        chunks = repeated(line + b"\r\n \r\n", size) + end
        return request(chunks, framing=b"Transfer-Encoding: chunked\r\n")

    return make


def ending_with(beginning: bytes, unit: bytes, after: bytes = b"\r\n\r\n") -> Shape:
    def make(size: int) -> bytes:
        body = beginning + repeated(unit, size) + after
        return request(body, framing=b"Transfer-Encoding: chunked\r\n")

    return make


# The approximate size of the largest body in chunks of one byte.
CHUNKED_BYTES = 8 * MAX_BODY_BYTES
CHUNKS: dict[str, Shape] = {
    "chunks of one byte": chunks_of(b"1"),
    "chunks with an extension": chunks_of(b"1;a"),
    "chunks of ten bytes": chunks_of(b"A", b"x"),
    "chunks without an end": chunks_of(b"1", b""),
    "a size with many zeros": ending_with(b"", b"0", b"1\r\n "),
    "an extension": ending_with(b"1", b";a", b"\r\n \r\n0\r\n\r\n"),
    "an extension in quotes": ending_with(b'1;a="', b'\\"', b'"\r\n \r\n0\r\n\r\n'),
    "an extension that does not end": ending_with(b'1;a="', b'\\"', b"\r\n"),
    "white space in an extension": ending_with(b"1;a", b" ", b"=b\r\n \r\n0\r\n\r\n"),
    "trailers": ending_with(b"0\r\n", b"a:\r\n", b"\r\n"),
    "a trailer": ending_with(b"0\r\na:", b"a"),
    "a trailer without an end": ending_with(b"0\r\n", b"a", b""),
}


def _worst_of_all(size: int) -> bytes:
    """Return a request whose head, chunks and body are all expensive."""
    body = BODIES["numbers"](size)
    chunks = b"".join(
        b"040;a=b\r\n%b\r\n" % body[at : at + 64] for at in range(0, len(body) - 63, 64)
    )
    rest = body[len(body) // 64 * 64 :]
    chunks += b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest)
    fields = numbered(b"X-%d: a", 800, b"\r\n") + b"\r\nX-Forwarded-For: "
    fields += b"1" * (size // 4) + b"\r\nTransfer-Encoding: chunked\r\n"
    return request(chunks, framing=fields)


def with_field(name: bytes, unit: bytes) -> Shape:
    """Return a factory of requests with a field that repeats this unit."""

    def make(size: int) -> bytes:
        value = repeated(unit, max(0, size - OTHER_HEAD_BYTES))
        return request(b"{}", fields=b"%b: %b\r\n" % (name, value))

    return make


def with_fields(form: bytes) -> Shape:
    def make(size: int) -> bytes:
        room = max(0, size - OTHER_HEAD_BYTES)
        return request(b"{}", fields=numbered(form, room, b"\r\n") + b"\r\n")

    return make


def with_target(before: bytes, unit: bytes) -> Shape:
    def make(size: int) -> bytes:
        path = before + repeated(unit, max(0, size - OTHER_HEAD_BYTES))
        return request(b"{}", target=path)

    return make


HEADS: dict[str, Shape] = {
    "an unknown field": with_field(b"X-Long", b"a"),
    "preferences": with_field(b"Prefer", b"a,"),
    "preferences in quotes": with_field(b"Prefer", b'a="\\",'),
    "connection options": with_field(b"Connection", b"a,"),
    "transfer codings": with_field(b"Transfer-Encoding", b"a,"),
    "addresses": with_field(b"X-Forwarded-For", b"192.0.2.1, "),
    "commas in addresses": with_field(b"X-Forwarded-For", b","),
    "one long address": with_field(b"X-Forwarded-For", b"1"),
    "a User-Agent of browsers": with_field(
        b"User-Agent", b" AppleWebKit/0.0 (KHTML, like Gecko)"
    ),
    "a User-Agent with keys": with_field(b"User-Agent", b"sk-abcdef "),
    "a User-Agent that nearly has keys": with_field(b"User-Agent", b"sk-a"),
    "a User-Agent outside of ASCII": with_field(b"User-Agent", b"\xd0"),
    "a content type": with_field(b"Content-Type", b"; a=b"),
    "a second Authorization": with_field(b"Authorization", b"Bearer "),
    "a key elsewhere": with_field(b"X-Api-Key", b"sk-"),
    "cookies that nearly have keys": with_field(b"Cookie", b"sk-a"),
    "a length with many zeros": with_field(b"Content-Length", b"0"),
    "fields": with_fields(b"X-%d: a"),
    "upgrades": with_fields(b"Upgrade: %d"),
    "a path": with_target(b"/", b"a"),
    "parameters that are nearly keys": with_target(b"/v1/models?", b"a-"),
    "keys in a URL": with_target(b"/v1/models?", b"sk-abcdef"),
    "an absolute target": with_target(b"http://", b"a"),
    "a method": lambda size: request(
        b"{}", method=repeated(b"A", max(1, size - OTHER_HEAD_BYTES))
    ),
    "a key": lambda size: request(b"{}").replace(
        b"sk-echo-", b"sk-echo-" + repeated(b"a", max(0, size - OTHER_HEAD_BYTES)), 1
    ),
    "a key of dashes": lambda size: request(b"{}").replace(
        b"sk-echo-", repeated(b"sk-", max(0, size - OTHER_HEAD_BYTES)), 1
    ),
}


def in_packets(shape: Shape, packet: int) -> Callable[[int], list[bytes]]:
    def make(size: int) -> list[bytes]:
        data = shape(size)
        return [data[at : at + packet] for at in range(0, len(data), packet)]

    return make


def _pipelined(size: int) -> bytes:
    one = request(method=b"GET", target=b"/v1/models")
    return repeated(one, max(size, len(one)))


def _made_pattern(size: int) -> bytes:
    """Return an accepted request, from which a pattern is made."""
    body = b"{%b,%b}" % (MODEL, MESSAGES)
    return request(body, fields=numbered(b"X-%d: a", size, b"\r\n") + b"\r\n")


def _without_end(size: int) -> bytes:
    """Return a head whose last line does not end."""
    head = request(b"{}", fields=numbered(b"X-%d:", 300, b"\r\n") + b"\r\n")
    return head[: head.index(b"Content-Length")] + b"X-Long: " + b"a" * size


def _case(name: str, shape: Shape, limit: int, packet: int = 1 << 20) -> WorstCase:
    return WorstCase(name, send, in_packets(shape, packet), limit)


def _prepared(name: str, shape: Shape, limit: int, packet: int = 1 << 20) -> WorstCase:
    return WorstCase(name, send_to_prepared, in_packets(shape, packet), limit)


CASES = [
    *(
        _case(
            f"body: {name}",
            lambda size, shape=shape: request(shape(size)),
            MAX_BODY_BYTES,
        )
        for name, shape in BODIES.items()
    ),
    *(_case(f"chunks: {name}", shape, CHUNKED_BYTES) for name, shape in CHUNKS.items()),
    *(_case(f"head: {name}", shape, HEAD_BYTES) for name, shape in HEADS.items()),
    # No pattern is made from a head with more than 40 lines.
    _case("head: a pattern is made", _made_pattern, 300),
    *(_prepared(f"prepared: {name}", HEADS[name], HEAD_BYTES) for name in HEADS),
    _prepared("prepared: a line without an end", _without_end, 200_000),
    _prepared("packets: a prepared state", HEADS["fields"], 4096, 8),
    _case("packets: a head", HEADS["an unknown field"], HEAD_BYTES, 16),
    _case("packets: fields", HEADS["fields"], 4096, 8),
    _case(
        "packets: a body",
        lambda size: request(BODIES["white space"](size)),
        MAX_BODY_BYTES,
        32,
    ),
    _case("packets: chunks", CHUNKS["chunks of one byte"], 2048, 2),
    _case("packets: an extension", CHUNKS["an extension"], HEAD_BYTES, 16),
    _case("packets: a trailer", CHUNKS["a trailer"], HEAD_BYTES, 16),
    _case("requests at once", _pipelined, 65_536),
    _case("everything at once", _worst_of_all, MAX_BODY_BYTES - 1),
]
