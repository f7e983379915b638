"""Bytes that have been read are dropped, but not after each of many small messages."""

from readback.http.receive_buffer import ReceiveBuffer


def test_many_small_messages_do_not_make_it_copy_the_rest_each_time() -> None:
    buffer = ReceiveBuffer()
    buffer.append(b"x" * 100_000)
    before = buffer._data
    assert buffer.take(10) == b"x" * 10
    buffer.drop_read()
    assert buffer._data is before
    assert buffer.take(70_000) is not None
    buffer.drop_read()
    assert len(buffer._data) == buffer.unread == 29_990
