"""The size limit of a head, counted across all segments.

RFC 9110 §5.4, RFC 9112 §3: a request line that is too long gets 414, a head that is too
large 431, and lines of 8000 bytes should be accepted.
"""

import pytest

from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    pieces_of,
    statuses,
)
from tests.support.wire import Endpoint

START = b"GET / HTTP/1.1\r\nHost: x\r\n"


def head_of(size: int) -> bytes:
    padding = b"y" * (size - len(START) - len(b"X: \r\n\r\n"))
    return START + b"X: " + padding + b"\r\n\r\n"


def fields(number: int) -> bytes:
    """Return a head with this many fields, including Host."""
    return START + b"X: y\r\n" * (number - 1) + b"\r\n"


def with_target(size: int) -> bytes:
    return b"GET /" + b"a" * size + b" HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("piece", [1_000_000, 8192, 3001, 100])
def test_a_head_of_16384_bytes_is_read(echo: Endpoint, piece: int) -> None:
    raw = head_of(16_384)
    assert len(raw) == 16_384
    # Empty lines before a head are not part of it.
    for pieces in (pieces_of(raw, piece), pieces_of(b"\r\n" * 4 + raw, piece)):
        assert statuses(ask(echo, *pieces, GOOD)) == [200, 200]


@pytest.mark.parametrize("piece", [1_000_000, 16_384, 8192, 1000, 100])
@pytest.mark.parametrize("size", [16_385, 17_000, 70_000, 1_000_000])
def test_a_larger_head_is_refused_in_any_segments(
    echo: Endpoint, size: int, piece: int
) -> None:
    pieces = pieces_of(head_of(size) + GOOD, piece)
    # 1000 pieces are enough: a head is refused as soon as it is too large.
    assert_closing_refusal(ask(echo, *pieces[:1000]), "headers_too_large")


def test_100_fields_are_accepted_and_101_are_refused(echo: Endpoint) -> None:
    # CVE-2025-67725: joining repeated fields took Tornado quadratic time.
    assert statuses(ask(echo, fields(100) * 50)) == [200] * 50
    assert_closing_refusal(ask(echo, fields(101) + GOOD), "headers_too_large")


@pytest.mark.parametrize("size", [16_384, 20_000, 65_535, 65_536, 70_000, 500_000])
def test_a_target_longer_than_a_head_is_refused(echo: Endpoint, size: int) -> None:
    # httptools before 0.8.0 truncated a target after 65535 bytes.
    for piece in (1_000_000, 1000):
        answers = ask(echo, *pieces_of(with_target(size), piece))
        assert_closing_refusal(answers, "target_too_long")
        assert statuses(answers) == [414]


def test_a_target_of_8000_bytes_is_read(echo: Endpoint) -> None:
    assert statuses(ask(echo, with_target(8000), GOOD)) == [200, 200]
