"""Parts of a message out of bytes that arrive in any pieces."""

import pytest

from readback.api.http import receive_buffer
from readback.api.http.head import check_beginning
from readback.api.http.receive_buffer import ReceiveBuffer

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LIMIT = 16_384


def filled(*pieces: bytes) -> ReceiveBuffer:
    buffer = ReceiveBuffer()
    for piece in pieces:
        buffer.append(piece)
    return buffer


def take_head(buffer: ReceiveBuffer) -> bytes | None:
    head = buffer.peek_head(LIMIT)
    if head is not None:
        buffer.drop_head()
    return head


def test_each_byte_of_an_unfinished_head_is_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Checking all of it again for each of 16 thousand pieces would be 134 million
    # bytes, for a client that sends as many packets. Bytes are counted, not seconds.
    checked_bytes: list[int] = []

    def counting(part: bytes, is_start: bool) -> None:
        checked_bytes.append(len(part))
        check_beginning(part, is_start=is_start)

    monkeypatch.setattr(receive_buffer, "check_beginning", counting)
    buffer = ReceiveBuffer()
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 16_000
    for byte in head:
        buffer.append(bytes([byte]))
        assert buffer.peek_head(LIMIT) is None
    # A carriage return is checked again with the byte after it.
    assert sum(checked_bytes) == len(head) + head.count(b"\r")


@pytest.mark.parametrize("cut", range(1, len(HEAD)))
def test_a_head_in_two_pieces_is_found_with_what_follows_it(cut: int) -> None:
    buffer = filled(HEAD[:cut])
    assert buffer.peek_head(LIMIT) is None
    buffer.append(HEAD[cut:] + b"rest")
    assert take_head(buffer) == HEAD
    assert buffer.unread == 4 and buffer.take(4) == b"rest"


def test_a_head_stays_until_it_is_dropped() -> None:
    buffer = filled(HEAD + b"rest")
    assert buffer.peek_head(LIMIT) == buffer.peek_head(LIMIT) == HEAD
    assert buffer.begins_with(b"GET ")
    buffer.drop_head()
    assert buffer.take(4) == b"rest"


def test_half_an_empty_line_does_not_begin_a_head() -> None:
    buffer = filled(b"\r")
    assert buffer.peek_head(LIMIT) is None and not buffer.head_checked
    buffer.append(b"\n\r")
    assert buffer.peek_head(LIMIT) is None and not buffer.head_checked
    buffer.append(b"\nG")
    assert buffer.peek_head(LIMIT) is None and buffer.head_checked == 1


def test_bytes_are_taken_only_when_there_are_enough() -> None:
    buffer = filled(b"abc")
    assert buffer.take(4) is None and buffer.unread == 3
    buffer.append(b"d")
    assert buffer.take(4) == b"abcd" and buffer.unread == 0


def test_at_most_what_is_there_is_skipped() -> None:
    buffer = filled(b"abc")
    assert buffer.skip(2) == 2
    assert buffer.skip(5) == 1
    assert buffer.unread == 0


def test_what_has_been_read_is_freed() -> None:
    buffer = filled(b"secret body", b"next")
    assert buffer.take(len(b"secret body")) == b"secret body"
    buffer.drop_read()
    assert buffer.take(4) == b"next"
    buffer.drop_read()
    assert buffer._data == b""


def test_many_small_messages_do_not_make_it_copy_the_rest_each_time() -> None:
    buffer = filled(b"x" * 100_000)
    before = buffer._data
    assert buffer.take(10) == b"x" * 10
    buffer.drop_read()
    assert buffer._data is before
    assert buffer.take(70_000) is not None
    buffer.drop_read()
    assert len(buffer._data) == buffer.unread == 29_990
