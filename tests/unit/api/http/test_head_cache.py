"""A cached head, or one that differs only in its key, is read like a new one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.api.http.head import Head, parse
from readback.api.http.head_cache import HeadCache
from readback.api.http.refused import Refused

MAX_FIELDS = 100


class Methods:
    """A handler that wants to know nothing but the method."""

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
    head, info, key = CACHE.read(data)
    assert info == head.method
    return head, key


def meaning(head: Head, key: bytes) -> tuple[object, ...]:
    """Return everything that a head contains, with the key back in its place."""
    fields = [
        (name, value + b" " + key if key and name == b"authorization" else value)
        for name, value in head.fields
    ]
    names = sorted(set(Head.__slots__) - {"fields"})
    return fields, *(getattr(head, name) for name in names)


def assert_read_as_if_new(data: bytes) -> None:
    assert meaning(*read_head(data)) == meaning(parse(data, MAX_FIELDS), b"")


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
    assert cache._known == {}


def test_the_cache_is_bounded() -> None:
    for number in range(10_000):
        read_head(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        read_head(HEAD % b"key%d" % number)
    assert len(CACHE._known) <= 512
