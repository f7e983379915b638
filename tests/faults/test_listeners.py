"""Where the API can listen: TLS, IPv6, unix sockets, and several at once."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import (
    CHAT,
    Api,
    assert_echo,
    assert_refused,
    assert_success,
    compact,
    draft,
)
from tests.support.authority import Authority
from tests.support.commands import free_port
from tests.support.server import UNLIMITED, Server, api_server
from tests.support.waiting import PATIENCE
from tests.support.wire import Connection, Endpoint, chunked, request


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder / "authority")
    certificate = str(authority.issue("localhost"))
    settings = UNLIMITED | {
        "READBACK_TLS_CERTIFICATE": certificate,
        "READBACK_TLS_KEY": certificate,
        "READBACK_HEAD_TIMEOUT": "2",
    }
    with api_server(folder, settings) as server:
        yield server, authority.root


def connect_by_tls(server: Server, root: Path) -> Connection:
    context = ssl.create_default_context(cafile=str(root))
    endpoint = Endpoint.of(server.base_url)
    address = (endpoint.host, endpoint.port)
    raw = socket.create_connection(address, timeout=PATIENCE)
    return Connection(context.wrap_socket(raw, server_hostname="localhost"))


def api_for(server: Server) -> Api:
    return Api(Endpoint("localhost", Endpoint.of(server.base_url).port), server.api_key)


def test_tls_carries_sequential_and_pipelined_requests(
    tls: tuple[Server, Path],
) -> None:
    api = api_for(tls[0])
    with connect_by_tls(*tls) as connection:
        for text in ("one", "дом", "x" * 8192, "one"):
            connection.send(api.chat_bytes(draft(text)))
            assert_echo(connection.read_answer(), text)
        texts = [f"{number} " * 1000 for number in range(50)]
        connection.send(b"".join(api.chat_bytes(draft(text)) for text in texts))
        for text in texts:
            assert_echo(connection.read_answer(), text)
        coding = ("Transfer-Encoding", "chunked")
        fields = [*api.usual_fields, ("Content-Type", "application/json"), coding]
        body = chunked(compact(draft("chunks")), 7)
        connection.send(request("POST", CHAT, fields, body))
        assert_echo(connection.read_answer(), "chunks")


def test_a_refusal_over_tls_arrives_while_the_body_is_being_sent(
    tls: tuple[Server, Path],
) -> None:
    api = api_for(tls[0])
    length = ("Content-Length", "3000000")
    for _ in range(5):
        with connect_by_tls(*tls) as connection:
            connection.send(request("POST", "/v1/x", [*api.usual_fields, length]))
            for _ in range(30):
                connection.send(b" " * 100_000)
            answer = connection.read_answer()
            assert_refused(answer, "not_found")
            assert answer.header("Connection") == "close"
            assert connection.rest() == b""


def test_ipv6_unix_sockets_and_ipv4_serve_the_same_api(tmp_path: Path) -> None:
    four, six, path = free_port(), free_port("::1"), tmp_path / "api.sock"
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
