"""The port for TLS: what it negotiates, and that it serves nothing else."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.api import MODELS, Api, assert_success
from tests.support.authority import Authority
from tests.support.metrics import metrics
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection, Endpoint, request

HEAD_SECONDS = 2
# The sweep that closes connections, the time to linger, and a busy machine.
CLOSING_SECONDS = 20


@dataclass(frozen=True)
class Secured:
    """A server with a certificate, and how a client without TLS connects to it."""

    server: Server
    api: Api
    authority: Authority

    @property
    def plain(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.api.endpoint.port)

    def handshake(self, *protocols: str) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.authority.root))
        if protocols:
            context.set_alpn_protocols(protocols)
        address = ("127.0.0.1", self.api.endpoint.port)
        raw = socket.create_connection(address, timeout=PATIENCE)
        return context.wrap_socket(raw, server_hostname="localhost")

    @property
    def models(self) -> bytes:
        return request("GET", MODELS, self.api.usual_fields)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder / "authority")
    certificate = str(authority.issue("localhost"))
    settings = UNLIMITED | {
        "READBACK_TLS_CERTIFICATE": certificate,
        "READBACK_TLS_KEY": certificate,
        "READBACK_HEAD_TIMEOUT": str(HEAD_SECONDS),
        "READBACK_WORKERS": "1",
    }
    with ephemeral_server(folder, settings) as server:
        yield Secured(server, Api.of(server), authority)


def test_operators_see_when_the_certificate_expires(secured: Secured) -> None:
    with secured.handshake() as client:
        expiry = ssl.cert_time_to_seconds(client.getpeercert()["notAfter"])
    shown = metrics(secured.server.ops_url)["certificate_expiry_timestamp_seconds"]
    assert shown == expiry


def without_tls(secured: Secured, sent: bytes) -> bytes:
    """Return all that a client without TLS receives."""
    with secured.plain.connect(patience=HEAD_SECONDS + CLOSING_SECONDS) as connection:
        connection.send(sent)
        connection.finish_sending()
        return connection.rest()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 20,
        b"\x16\x03\x01\xff\xff" + b"x" * 300,
        b"\x80\x2e\x01\x03",
        b"\r\n\n",
        b"",
    ],
    ids=["zeros", "a bad record", "SSL 2", "empty lines", "plain HTTP"],
)
def test_a_client_without_tls_gets_no_http_answer(
    secured: Secured, garbage: bytes
) -> None:
    assert b"HTTP" not in without_tls(secured, garbage or secured.models)
    with Connection(secured.handshake()) as connection:
        connection.send(secured.models)
        assert_success(connection.read_answer())
    assert "error" not in (secured.server.folder / "stderr").read_text()


def test_a_client_that_never_begins_a_handshake_is_closed(secured: Secured) -> None:
    with secured.plain.connect(patience=HEAD_SECONDS + CLOSING_SECONDS) as connection:
        assert connection.rest() == b""
    wait_until(
        lambda: metrics(secured.server.ops_url)["open_connections"] == 0,
        "nothing is left open",
    )


@pytest.mark.parametrize(
    "offered, agreed",
    [
        (["http/1.1"], "http/1.1"),
        (["h2", "http/1.1"], "http/1.1"),
        # The client learns that there is no h2, and may still speak HTTP/1.1.
        (["h2"], None),
        ([], None),
    ],
)
def test_http_1_1_is_the_only_protocol(
    secured: Secured, offered: list[str], agreed: str | None
) -> None:
    encrypted = secured.handshake(*offered)
    with Connection(encrypted) as connection:
        assert encrypted.selected_alpn_protocol() == agreed
        connection.send(secured.models)
        assert_success(connection.read_answer())
