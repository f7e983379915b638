"""One connection without a socket: how much work a request costs it."""

import asyncio

import pytest
from tests.support.echo_server import PATIENT, Echo

from readback.api.http import connection as protocol
from readback.api.http.head import check_begun
from readback.api.http.registry import ConnectionRegistry


def test_a_head_byte_by_byte_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # To look at all of it again for each of 16 thousand pieces would be 134 million
    # bytes, for a client that sends as many packets. Bytes are counted, not seconds.
    looked_at: list[int] = []

    def counting(window: bytes, seen: int) -> None:
        looked_at.append(len(window) - seen)
        check_begun(window, seen)

    monkeypatch.setattr(protocol, "check_begun", counting)
    connection = protocol.Connection(Echo(), ConnectionRegistry(PATIENT))
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 16_000

    async def receive() -> None:
        for byte in head:
            connection.data_received(bytes([byte]))
            await asyncio.sleep(0)

    asyncio.run(receive())
    assert sum(looked_at) == len(head)
