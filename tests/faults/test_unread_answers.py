"""Clients that send many requests and read no answer: how much is taken from them."""

import socket
import sys
from pathlib import Path

import pytest

from tests.support.api import Api, assert_echo, draft
from tests.support.server import UNLIMITED, ephemeral_server

# A small receive buffer, so that what is accepted is kept by the server.
SMALL = 4096


def send_until_it_blocks(sock: socket.socket, raw: bytes, most: int) -> int:
    """Return how many bytes are accepted, or `most` if there is no end."""
    sock.settimeout(1)
    sent = 0
    try:
        while sent < most:
            sent += sock.send(raw[sent % len(raw) :])
    except TimeoutError:
        pass
    return sent


@pytest.mark.skipif(sys.platform != "linux", reason="the sizes are those of Linux")
def test_the_server_keeps_little_for_a_client_that_does_not_read(
    tmp_path: Path,
) -> None:
    with ephemeral_server(tmp_path, UNLIMITED) as server:
        api = Api.of(server)
        raw = api.chat_bytes(draft("x" * 8192))
        with socket.socket() as flood:
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
            flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
            flood.connect((api.endpoint.host, api.endpoint.port))
            # The kernel's defaults are 4 and 6 MB; ours are 128 KB, and the worker has
            # read at most 512 KB that it cannot answer yet.
            limit = 2_000_000
            assert send_until_it_blocks(flood, raw, limit) < limit
            # The largest request is still accepted in one piece, and answered.
            with api.endpoint.connect() as connection:
                connection.send(raw)
                assert_echo(connection.read_answer(), "x" * 8192)
