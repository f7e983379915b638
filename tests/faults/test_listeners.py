"""Where the API can listen: TLS, IPv6, unix sockets, and several at once."""

import datetime
import socket
import ssl
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.faults.serving import Running, running
from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    assert_success,
    compact,
    draft,
)
from tests.support.commands import free_port
from tests.support.server import UNLIMITED
from tests.support.wire import Connection, Endpoint, chunked, request


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate for localhost and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = make_certificate(folder)
    settings = UNLIMITED | {
        "READBACK_API_BIND": f"127.0.0.1:{free_port()}",
        "READBACK_TLS_CERTIFICATE": str(certificate),
        "READBACK_TLS_KEY": str(key),
        "READBACK_HEAD_TIMEOUT": "2",
    }
    with running(folder, settings) as server:
        yield server, certificate


def connect_by_tls(server: Running, certificate: Path) -> Connection:
    context = ssl.create_default_context(cafile=str(certificate))
    host, port = server.api_address
    raw = socket.create_connection((host, port), timeout=10)
    return Connection(context.wrap_socket(raw, server_hostname="localhost"))


def api_for(server: Running) -> Api:
    return Api(Endpoint("localhost", server.api_address[1]), server.key)


def test_tls_carries_sequential_and_pipelined_requests(
    tls: tuple[Running, Path],
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


def test_a_refusal_over_tls_arrives_while_the_body_is_still_sent(
    tls: tuple[Running, Path],
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


def test_the_server_closes_tls_connections_too(tls: tuple[Running, Path]) -> None:
    api = api_for(tls[0])
    for raw in (
        request("GET", MODELS, [*api.usual_fields, ("Connection", "close")]),
        b"garbage\r\n\r\n",
    ):
        with connect_by_tls(*tls) as connection:
            connection.send(raw)
            assert connection.read_answer().header("Connection") == "close"
            assert connection.rest() == b""


def test_plain_http_to_a_tls_port_is_closed_and_does_no_harm(
    tls: tuple[Running, Path],
) -> None:
    api = api_for(tls[0])
    for raw in (
        request("GET", MODELS, api.usual_fields),
        b"\x16\x03\x01\x00",
        b"\0" * 100,
    ):
        with socket.create_connection(tls[0].api_address, timeout=10) as plain:
            plain.sendall(raw)
            plain.shutdown(socket.SHUT_WR)
            assert b"200 OK" not in plain.recv(1000)
    with connect_by_tls(*tls) as connection:
        connection.send(request("GET", MODELS, api.usual_fields))
        assert_success(connection.read_answer())


def test_ipv6_unix_sockets_and_ipv4_serve_the_same_api(tmp_path: Path) -> None:
    four, six, path = free_port(), free_port("::1"), tmp_path / "api.sock"
    binds = f"127.0.0.1:{four},[::1]:{six},unix:{path}"
    with running(tmp_path, UNLIMITED | {"READBACK_API_BIND": binds}) as server:
        for endpoint in (Endpoint("127.0.0.1", four), Endpoint("::1", six)):
            api = Api(endpoint, server.key)
            assert_success(api.models())
            assert_echo(api.chat(draft("дом")), "дом")
        api = Api(Endpoint("localhost", 80), server.key)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(str(path))
            connection = Connection(sock)
            for text in ("one", "two"):
                connection.send(api.chat_bytes(draft(text)))
                assert_echo(connection.read_answer(), text)
            connection.send(b"garbage\r\n\r\n")
            assert_refused(connection.read_answer(), "malformed_request")
            assert connection.rest() == b""
