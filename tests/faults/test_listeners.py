"""Where the API can listen: IPv6, unix sockets, and several at once."""

import socket
from pathlib import Path

from tests.support.api import Api, assert_echo, assert_refused, assert_success, draft
from tests.support.commands import free_port
from tests.support.programs import needed_address
from tests.support.server import UNLIMITED, api_server
from tests.support.waiting import PATIENCE
from tests.support.wire import Connection, Endpoint


def test_ipv6_unix_sockets_and_ipv4_serve_the_same_api(tmp_path: Path) -> None:
    four, six = free_port(), free_port(needed_address("::1"))
    path = tmp_path / "api.sock"
    binds = f"127.0.0.1:{four},[::1]:{six},unix:{path}"
    with api_server(tmp_path, UNLIMITED | {"READBACK_API_BIND": binds}) as server:
        for endpoint in (Endpoint("127.0.0.1", four), Endpoint("::1", six)):
            api = Api(endpoint, server.api_key)
            assert_success(api.models())
            assert_echo(api.chat(draft("дом")), "дом")
        api = Api(Endpoint("localhost", 80), server.api_key)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(str(path))
            connection = Connection(sock)
            for text in ("one", "two"):
                connection.send(api.chat_bytes(draft(text)))
                assert_echo(connection.read_answer(), text)
            connection.send(b"garbage\r\n\r\n")
            assert_refused(connection.read_answer(), "malformed_request")
            assert connection.rest() == b""
