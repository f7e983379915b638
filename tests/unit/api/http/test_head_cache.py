"""A head of a known kind is read like a new one, whatever differs in it."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.api.http.head import Head, parse
from readback.api.http.head_cache import HeadCache
from readback.api.http.refused import Refused

MAX_FIELDS = 100


class Methods:
    """A handler that wants to know nothing but the method."""

    read_fields = frozenset([b"x-old"])

    def describe(self, head: Head) -> bytes:
        return head.method

    def contains_secret(self, data: bytes) -> bool:
        return b"secret" in data


CACHE = HeadCache(Methods(), MAX_FIELDS)
HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer %b\r\nContent-Length: 5\r\n\r\n"
)
ANOTHER_TOKEN = (
    b"GET / HTTP/1.1\r\nHost: x\r\nX-Old: Bearer %b\r\nAuthorization: Bearer %b\r\n\r\n"
)
TWICE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n"
    b"Authorization: Bearer %b\r\n\r\n"
)


def read_head(data: bytes) -> tuple[Head, bytes]:
    head, info, key, _forwarded = CACHE.read(data)
    assert info == head.method
    return head, key


def meaning(head: Head, key: bytes = b"", forwarded: bytes = b"") -> list[object]:
    """Return everything that is read of a head, with what was cut out of it."""
    fields = [
        (name, value + b" " + key if key and name == b"authorization" else value)
        for name, value in head.fields
        if name in CACHE._read_fields
        and (value or name != b"x-forwarded-for")
        and name != b"content-length"
    ]
    if forwarded.strip():
        fields.append((b"x-forwarded-for", forwarded.strip()))
    names = sorted({*Head.__slots__, "has_body"} - {"fields"})
    return [sorted(fields), *(getattr(head, name) for name in names)]


def assert_read_as_if_new(data: bytes, cache: HeadCache[bytes] = CACHE) -> None:
    head, _, key, forwarded = cache.read(data)
    assert meaning(head, key, forwarded) == meaning(parse(data, MAX_FIELDS))


KEYS = st.from_regex(rb"[0-9A-Za-z_-]{1,100}", fullmatch=True)


@given(st.lists(KEYS, min_size=2, max_size=5))
def test_a_cached_head_is_read_like_a_new_one(
    keys: list[bytes],
) -> None:
    for key in [*keys, *keys]:
        assert_read_as_if_new(HEAD % key)


@given(KEYS, KEYS)
def test_a_token_in_another_field_is_not_taken_for_the_key(
    first: bytes, second: bytes
) -> None:
    for pair in ((first, b""), (b"", first), (first, second), (second, first)):
        assert_read_as_if_new(ANOTHER_TOKEN % pair)


@given(KEYS, KEYS)
def test_two_authorization_fields_are_both_kept(first: bytes, second: bytes) -> None:
    for pair in ((first, second), (second, first), (first, first)):
        head, _ = read_head(TWICE % pair)
        assert len(head.all(b"authorization")) == 2


def test_the_key_is_returned_beside_the_head_and_not_kept_in_it() -> None:
    for key in (b"sk-echo-alice", b"sk-echo-bob"):
        head, given = read_head(HEAD % key)
        assert given == key
        assert head.first(b"authorization") == b"Bearer"


@pytest.mark.parametrize(
    "line",
    [
        b"Authorization: bearer alice",
        b"Authorization:  Bearer alice",
        b'Authorization: Bearer "alice"',
        b"Authorization: Bearer alice bob",
        b"AUTHORIZATION: Bearer alice",
        b"X-Authorization: Bearer alice",
        b"Proxy-Authorization: Bearer alice",
        b"Authorization: Bearer",
        b"X: Authorization: Bearer alice",
    ],
)
def test_an_unusual_authorization_is_not_split(line: bytes) -> None:
    data = HEAD.replace(b"Authorization: Bearer %b", line) % ()
    for _ in range(2):
        assert_read_as_if_new(data)
        assert read_head(data)[1] == b""


@pytest.mark.parametrize("bad_key", [b"a\x00b", b"a\nb", b"a\rb", b"a\x7fb"])
def test_a_key_with_an_invalid_byte_is_refused_despite_the_cache(
    bad_key: bytes,
) -> None:
    read_head(HEAD % b"alice")
    with pytest.raises(Refused):
        read_head(HEAD % bad_key)


@pytest.mark.parametrize(
    "line",
    [
        b"Authorization: bearer PASSWORD",
        b"Authorization:Bearer PASSWORD",
        b"Authorization:  Bearer PASSWORD",
        b"Authorization: Bearer PASSWORD ",
        b"Authorization: Bearer  PASSWORD",
        b"Authorization: Basic PASSWORD",
        b"AUTHORIZATION: Bearer PASSWORD",
        b"aUTHORIZATION: bEARER PASSWORD",
        b"Authorization: Bearer\tPASSWORD",
        b"Authorization: PASSWORD",
        b"Authorization: Bearer a\r\nAuthorization: Bearer PASSWORD",
        b"Authorization: Bearer PASSWORD\r\nAuthorization: Bearer a",
        b"X-Api-Key: secret PASSWORD",
        b"X: Authorization: Bearer PASSWORD",
    ],
)
def test_a_head_with_a_secret_that_is_not_cut_out_is_not_kept(line: bytes) -> None:
    cache = HeadCache(Methods(), MAX_FIELDS)
    data = HEAD.replace(b"Authorization: Bearer %b", line) % ()
    for _ in range(2):
        cache.read(data)
    assert b"PASSWORD" not in repr((cache._kinds, cache._lines)).encode()


# Lines of which none, one or several may be in a head, in any order.
VARYING = st.one_of(
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
            b"Content-Length: ",
            b"Content-Length: 5, 5",
            b"Content-Length: 99999999999",
            b"Content-Length: " + b"9" * 5000,
            b"Content-Length: " + b"0" * 20 + b"5",
            b"content-length:  6",
            b"Transfer-Encoding: chunked",
            b"Connection: close",
            b"Expect: 100-continue",
            b"X-Old: 1",
            b"Accept: */*",
            b"X-Name: \xc3\xa4",
            b"Cookie: a=b",
            b"AUTHORIZATION: Basic YTpi",
        ]
    ),
)


@given(st.lists(st.lists(VARYING, max_size=6), min_size=2, max_size=8))
def test_any_mixture_of_lines_is_read_like_a_new_head(
    heads: list[list[bytes]],
) -> None:
    cache = HeadCache(Methods(), MAX_FIELDS)
    for lines in [*heads, *heads]:
        data = b"\r\n".join([b"GET / HTTP/1.1", b"Host: x", *lines, b"", b""])
        try:
            parse(data, MAX_FIELDS)
        except Refused as refused:
            with pytest.raises(Refused) as again:
                cache.read(data)
            assert again.value.args == refused.args
        else:
            assert_read_as_if_new(data, cache)


def test_heads_that_differ_in_what_nobody_reads_are_of_one_kind() -> None:
    cache = HeadCache(Methods(), MAX_FIELDS)
    lines = b"X-Forwarded-For: 10.0.0.%d\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n"
    data = HEAD.replace(b"Content-Length: 5\r\n", lines)
    cache.read(data % (b"alice", 1, 1, 1))
    cache.read(data % (b"bob", 2, 2, 2))
    for number in range(3, 100):
        found = cache.find(data % (b"key%d" % number, number, number, number))
        assert found
        assert found[2:] == (b"key%d" % number, b"10.0.0.%d" % number, number)
    assert len(cache._kinds) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"X-Request-Id : 1",
        b"X-Request-Id: a\x00b",
        b"X-Request-Id: a\nb",
        b" X-Request-Id: 1",
        b"X Request-Id: 1",
        b"X-Request-Id",
        b"Content-Length: 6",
        b"Transfer-Encoding: chunked",
        b"Host: y",
    ],
)
def test_an_invalid_line_is_refused_where_an_unread_one_was(line: bytes) -> None:
    data = HEAD.replace(b"Content-Length", b"%b\r\nContent-Length")
    for number in range(3):
        read_head(data % (b"alice", b"X-Request-Id: %d" % number))
    with pytest.raises(Refused):
        read_head(data % (b"alice", line))


def test_a_handler_gets_no_field_that_it_does_not_name() -> None:
    head, _ = read_head(b"GET / HTTP/1.1\r\nHost: x\r\nX-New: 1\r\nX-Old: 2\r\n\r\n")
    assert head.fields == [(b"host", b"x"), (b"x-old", b"2")]


def test_the_cache_is_bounded() -> None:
    cache = HeadCache(Methods(), MAX_FIELDS)
    for number in range(10_000):
        head = b"GET /%d HTTP/1.1\r\nHost: x\r\nX-Id: %d\r\n\r\n"
        cache.read(head % (number, number))
        cache.read(HEAD % b"key%d" % number)
    assert len(cache._kinds) <= 512
    assert len(cache._lines) <= 2048 + 10


def test_heads_made_to_be_different_fill_little_memory() -> None:
    cache = HeadCache(Methods(), MAX_FIELDS)
    fields, width = 36, 2000 // 36 - 10
    many = b"".join(b"X-Old: %0*d\r\n" % (width, field) for field in range(fields))
    tracemalloc.start()
    try:
        for number in range(500):
            cache.read(b"GET /%d HTTP/1.1\r\nHost: x\r\n%b\r\n" % (number, many))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(cache._kinds) == 500
    assert kept < 6 << 20, kept
