"""The TLS port: what it negotiates, and that it serves nothing else."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.api import (
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    assert_success,
    draft,
)
from tests.support.authority import DAY, Authority
from tests.support.metrics import metrics
from tests.support.server import UNLIMITED, Server, api_server
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection, Endpoint, request

HEAD_SECONDS = 2
# Enough for the sweep that closes connections, the lingering, and a busy machine.
CLOSING_SECONDS = 20
NO_CHECK_TIME = 0x200000  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME


@dataclass(frozen=True)
class Secured:
    """A server with a certificate, and the ways to connect to it."""

    server: Server
    api: Api
    authority: Authority

    @property
    def plain(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.api.endpoint.port)

    def handshake(self, *protocols: str) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(self.authority.root))
        context.verify_flags |= NO_CHECK_TIME
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
    # An expired certificate is still used, and operators are told.
    certificate = str(authority.issue("localhost", -9 * DAY, -DAY))
    settings = UNLIMITED | {
        "READBACK_TLS_CERTIFICATE": certificate,
        "READBACK_TLS_KEY": certificate,
        "READBACK_HEAD_TIMEOUT": str(HEAD_SECONDS),
        "READBACK_WORKERS": "2",
    }
    with api_server(folder, settings) as server:
        endpoint = Endpoint("localhost", Endpoint.of(server.base_url).port)
        yield Secured(server, Api(endpoint, server.api_key), authority)


def test_operators_see_when_the_certificate_expires(secured: Secured) -> None:
    with secured.handshake() as client:
        expiry = ssl.cert_time_to_seconds(client.getpeercert()["notAfter"])
    ops = secured.server.ops_url
    wait_until(lambda: metrics(ops)["database_readable_workers"] == 2, "both serve")
    assert metrics(ops)["certificate_expiry_timestamp_seconds"] == expiry
    log = (secured.server.folder / "stderr").read_text()
    assert log.count("The certificate is valid until") == 1


def test_a_client_without_tls_gets_no_http_answer(secured: Secured) -> None:
    bad_record, ssl_2 = b"\x16\x03\x01\xff\xff" + b"x" * 300, b"\x80\x2e\x01\x03"
    for garbage in (b"\x00" * 20, bad_record, ssl_2, b"\r\n\n", secured.models):
        with secured.plain.connect() as connection:
            connection.send(garbage)
            connection.finish_sending()
            assert b"HTTP" not in connection.rest()
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


def test_http_1_1_is_the_only_protocol(secured: Secured) -> None:
    for offered, agreed in (
        (["http/1.1"], "http/1.1"),
        (["h2", "http/1.1"], "http/1.1"),
        # The client learns that there is no h2, and may still speak HTTP/1.1.
        (["h2"], None),
        ([], None),
    ):
        encrypted = secured.handshake(*offered)
        with Connection(encrypted) as connection:
            assert encrypted.selected_alpn_protocol() == agreed
            connection.send(secured.models)
            assert_success(connection.read_answer())


def test_tls_carries_sequential_and_pipelined_requests(secured: Secured) -> None:
    api = secured.api
    with Connection(secured.handshake()) as connection:
        for text in ("one", "дом", "x" * 8192, "one"):
            connection.send(api.chat_bytes(draft(text)))
            assert_echo(connection.read_answer(), text)
        texts = [f"{number} " * 1000 for number in range(50)]
        connection.send(b"".join(api.chat_bytes(draft(text)) for text in texts))
        for text in texts:
            assert_echo(connection.read_answer(), text)


def test_a_refusal_over_tls_arrives_while_the_body_is_being_sent(
    secured: Secured,
) -> None:
    length = ("Content-Length", "3000000")
    for _ in range(5):
        with Connection(secured.handshake()) as connection:
            fields = [*secured.api.usual_fields, length]
            connection.send(request("POST", "/v1/x", fields))
            for _ in range(30):
                connection.send(b" " * 100_000)
            answer = connection.read_answer()
            assert_refused(answer, "not_found")
            assert answer.header("Connection") == "close"
            assert connection.rest() == b""
