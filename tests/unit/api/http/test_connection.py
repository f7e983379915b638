"""A connection without a socket: how much work the bytes of a head cause."""

import asyncio

import pytest
from tests.support.echo_server import PATIENT, Echo

from readback.api.http import connection as protocol
from readback.api.http.head import check_begun
from readback.api.http.registry import ConnectionRegistry


def test_a_head_that_arrives_byte_by_byte_is_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Checking the whole head again after each of 16 thousand bytes would mean 134
    # million bytes. Bytes are counted because seconds would depend on the machine.
    checked: list[int] = []

    def counting(window: bytes, seen: int) -> None:
        checked.append(len(window) - seen)
        check_begun(window, seen)

    monkeypatch.setattr(protocol, "check_begun", counting)
    connection = protocol.Connection(Echo(), ConnectionRegistry(PATIENT))
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 16_000

    async def receive() -> None:
        for byte in head:
            connection.data_received(bytes([byte]))
            await asyncio.sleep(0)

    asyncio.run(receive())
    assert sum(checked) == len(head)
