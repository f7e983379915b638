"""A head of a known kind is read like a new one, whatever differs in it."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.http.head import Head, parse
from readback.http.heads import Heads
from readback.http.refused import Refused

MAX_FIELDS = 100


class Methods:
    """A handler that wants to know nothing but the method."""

    read_fields = frozenset([b"x-old"])

    def describe(self, head: Head) -> bytes:
        return head.method

    def contains_secret(self, data: bytes) -> bool:
        return b"secret" in data


CACHE = Heads(Methods(), MAX_FIELDS)
HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer %b\r\nContent-Length: 5\r\n\r\n"
)


def accept(data: bytes, cache: Heads[bytes]) -> None:
    """Read a head that was sent with an accepted key, twice: it is known then."""
    for _ in range(2):
        cache.note_accepted(cache.read(data)[0])


def meaning(
    head: Head, length: int, forwarded: bytes, key: bytes = b""
) -> list[object]:
    """Return everything that is read of a head, with what was cut out of it."""
    fields = [
        (name, value + b" " + key if key and name == b"authorization" else value)
        for name, value in head.fields
        if name in CACHE._read_fields - {b"x-forwarded-for", b"content-length"}
    ]
    names = sorted({*Head.__slots__} - {"fields", "content_length"})
    read = [forwarded.strip(), *(getattr(head, name) for name in names)]
    return [sorted(fields), length, *read]


def assert_read_as_if_new(data: bytes, cache: Heads[bytes] = CACHE) -> None:
    new = parse(data, MAX_FIELDS)
    found = [cache.read(data)]
    if known := cache.accepted.find(data + b"a body"):
        found.append(known)
    for kind, key, forwarded, length, start in found:
        assert start == len(data)
        addresses = b",".join(new.all(b"x-forwarded-for"))
        same = meaning(new, new.content_length, addresses)
        assert meaning(kind.head, length, forwarded, key) == same


KEYS = st.from_regex(rb"[0-9A-Za-z_-]{1,100}", fullmatch=True)


# Lines that are not what a program sends; some of them are refused.
ODD_LINES = [
    b"Authorization: bearer alice",
    b"Authorization:  Bearer alice",
    b'Authorization: Bearer "alice"',
    b"Authorization: Bearer alice bob",
    b"AUTHORIZATION: Bearer alice",
    b"AUTHORIZATION: Basic YTpi",
    b"X-Authorization: Bearer alice",
    b"Proxy-Authorization: Bearer alice",
    b"Authorization: Bearer",
    b"X: Authorization: Bearer alice",
    b"X-Old: Bearer alice",
    b"Authorization: Bearer a\x00b",
    b"Authorization: Bearer a\nb",
    b"Authorization: Bearer a\rb",
    b"Authorization: Bearer a\x7fb",
    b"X-Request-Id : 1",
    b"X-Request-Id: a\x00b",
    b"X-Request-Id: a\nb",
    b" X-Request-Id: 1",
    b"X Request-Id: 1",
    b"X-Request-Id",
    b"Host: y",
    b"Content-Length: ",
    b"Content-Length: 5, 5",
    b"Content-Length: 99999999999",
    b"Content-Length: " + b"9" * 5000,
    b"Content-Length: " + b"0" * 20 + b"5",
    b"Transfer-Encoding: chunked",
]
# Lines of which none, one or several may be in a head, in any order.
VARYING = st.one_of(
    st.sampled_from(ODD_LINES),
    KEYS.map(b"Authorization: Bearer %b".__mod__),
    KEYS.map(b"authorization: Bearer %b".__mod__),
    KEYS.map(b"X-Request-Id: %b".__mod__),
    KEYS.map(b"traceparent:%b".__mod__),
    st.from_regex(rb"X-Forwarded-For: [0-9a-f.:, ]{0,20}", fullmatch=True),
    st.from_regex(rb"(?i:X-Forwarded-For): ?[a-z, ]{0,9}", fullmatch=True),
    st.sampled_from(
        [
            b"Content-Length: 5",
            b"Content-Length: 70",
            b"Content-Length: 007",
            b"content-length:  6",
            b"Connection: close",
            b"Expect: 100-continue",
            b"X-Old: 1",
            b"Accept: */*",
            b"X-Name: \xc3\xa4",
            b"Cookie: a=b",
            b"User-Agent: alice/1",
            b"user-agent: bob/1",
            b"USER-AGENT: bob/1",
        ]
    ),
)


@given(st.lists(st.lists(VARYING, max_size=6), min_size=2, max_size=8))
def test_any_mixture_of_lines_is_read_like_a_new_head(
    heads: list[list[bytes]],
) -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    for lines in [*heads, *heads]:
        assert_accepted_or_refused_as_if_new(lines, cache)


def assert_accepted_or_refused_as_if_new(
    lines: list[bytes], cache: Heads[bytes]
) -> None:
    data = b"\r\n".join([b"GET / HTTP/1.1", b"Host: x", *lines, b"", b""])
    try:
        parse(data, MAX_FIELDS)
    except Refused as refused:
        with pytest.raises(Refused) as again:
            cache.read(data)
        assert again.value.args == refused.args
    else:
        assert_read_as_if_new(data, cache)
        accept(data, cache)


@pytest.mark.parametrize("odd", ODD_LINES)
def test_an_odd_line_is_read_like_new_where_a_usual_one_was(odd: bytes) -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    usual = [b"Authorization: Bearer alice", b"X-Request-Id: 1", b"Content-Length: 5"]
    for _ in range(3):
        assert_accepted_or_refused_as_if_new(usual, cache)
    for lines in ([odd, *usual], *([*usual[:n], odd, *usual[n + 1 :]] for n in (0, 1))):
        assert_accepted_or_refused_as_if_new(lines, cache)
        assert_accepted_or_refused_as_if_new(lines, cache)


def test_heads_that_differ_in_what_nobody_reads_are_of_one_kind() -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    lines = b"X-Forwarded-For: 10.0.0.%d\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n"
    data = HEAD.replace(b"Content-Length: 5\r\n", lines)
    for number, key in enumerate((b"alice", b"bob")):
        accept(data % (key, number, number, number), cache)
    for number in range(3, 100):
        raw = data % (b"key%d" % number, number, number, number)
        found = cache.accepted.find(raw + b"body")
        assert found
        values = (b"key%d" % number, b"10.0.0.%d" % number, number, len(raw))
        assert found[1:] == values
    assert len(cache.accepted.by_skeleton) == 1


def test_the_key_may_be_anywhere() -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    data = (
        b"GET / HTTP/1.1\r\nX-Forwarded-For: %b\r\nHost: x\r\n"
        b"Authorization: Bearer alice\r\n\r\n"
    )
    another = data.replace(b"GET", b"POST") % b"1"
    for size in range(1, 100):
        accept(data % (b"1" * size), cache)
        accept(another, cache)  # so that the last kind is another one
        assert cache.accepted.find(data % (b"1" * size))
    assert len(cache.accepted.by_skeleton) == 2


def test_nobody_without_an_accepted_key_pushes_out_what_accepted_keys_need() -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    known = b"GET /known HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n"
    accept(known, cache)
    for number in range(2000):
        cache.read(known.replace(b"known", b"%d" % number))
        # The same kind, with the key in other places and with other lines.
        unread = b"x\r\nX-Id: %b" % (b"1" * (number % 300))
        cache.read(known.replace(b"x\r", unread + b"\r", 1))
    assert cache.accepted.find(known)
    assert len(cache.accepted.by_skeleton) == 1
    assert len(cache.others.by_skeleton) <= 64


def test_kinds_of_one_program_are_told_apart() -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    data = b"GET /%d HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n"
    for number in range(10, 16):
        accept(data % number, cache)
    for number in range(10, 16):
        found = cache.accepted.find(data % number)
        assert found and found[0].head.target == b"/%d" % number


def test_a_handler_gets_no_field_that_it_does_not_name() -> None:
    data = b"GET / HTTP/1.1\r\nHost: x\r\nX-New: 1\r\nX-Old: 2\r\n\r\n"
    kind, *_ = CACHE.read(data)
    assert kind.head.fields == [(b"host", b"x"), (b"x-old", b"2")]


def test_the_cache_is_bounded() -> None:
    cache = Heads(Methods(), MAX_FIELDS)
    head = b"GET /%d HTTP/1.1\r\nHost: x\r\nX-Id: %d\r\nUser-Agent: %d\r\n\r\n"
    for number in range(600):
        accept(head % (number, number, number), cache)
        accept(head % (number, number, 0), cache)
        accept(HEAD % b"key%d" % number, cache)
        cache.read(b"PUT" + head % (number, number, number))
    assert len(cache.accepted.by_skeleton) == 256
    assert len(cache.others.by_skeleton) == 64
    for kinds in (cache.accepted, cache.others):
        found = [kind for alike in kinds._by_program.values() for kind in alike]
        assert set(found) == set(kinds.by_skeleton.values())
        assert max(map(len, kinds._by_program.values())) <= 16
    assert cache.accepted.find(head % (number, number, number))
    assert cache.accepted.find(head % (number, number, 0))


def test_heads_made_to_be_different_fill_little_memory() -> None:
    # All are alike, and tracing the memory of 256 would take ten seconds.
    cache, kinds = Heads(Methods(), MAX_FIELDS), 8
    fields, width = 36, 1000 // 36 - 10
    many = b"".join(b"X-Old: %0*d\r\n" % (width, field) for field in range(fields))
    tracemalloc.start()
    try:
        for number in range(kinds):
            head = b"GET /%d HTTP/1.1\r\nHost: x\r\n%b\r\n" % (number, many)
            accept(head, cache)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(cache.accepted.by_skeleton) == kinds
    assert kept * 256 / kinds < 8 << 20, kept
