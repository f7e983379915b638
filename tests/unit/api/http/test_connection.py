"""What a connection keeps of a message: nothing once it is answered."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.support.echo_server import PATIENT, Echo
from tests.support.memory import reachable_from
from tests.support.raw_requests import post_body, post_chunks
from tests.support.work import ManualLoop, StoringTransport

from readback.api.http.connection import Connection
from readback.api.http.registry import ConnectionRegistry

SECRET = b"zyzzyva-in-the-body"


@pytest.fixture
def connection() -> Iterator[Connection]:
    asyncio._set_running_loop(ManualLoop())
    connection = Connection(ConnectionRegistry(Echo(), PATIENT))
    transport = StoringTransport()
    connection.connection_made(transport)
    yield connection
    asyncio._set_running_loop(None)


@pytest.mark.parametrize(
    "raw",
    [
        post_body(SECRET),
        post_chunks(b"%x\r\n%b\r\n0\r\n\r\n" % (len(SECRET), SECRET)),
    ],
    ids=["length", "chunked"],
)
def test_an_idle_connection_has_no_part_of_the_last_body(
    connection: Connection, raw: bytes
) -> None:
    connection.data_received(raw)
    del connection._transport, connection._flow  # they hold the answer
    kept = [
        getattr(connection, name)
        for name in Connection.__slots__
        if hasattr(connection, name) and name != "_registry"
    ]
    found = [one for one in reachable_from(kept) if isinstance(one, bytes | bytearray)]
    assert not [one for one in found if SECRET in one]
