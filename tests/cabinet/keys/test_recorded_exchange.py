"""A recorded exchange shows the bytes of the wire, and is bounded in every respect."""

import socket
import threading
import time

import pytest

from readback.cabinet.keys import recorded_exchange
from readback.cabinet.keys.recorded_exchange import (
    MAX_AT_ONCE,
    RecordedExchange,
)
from readback.http_client import MAX_RECEIVED_BYTES, NoFreeSlot
from tests.support.authority import Authority
from tests.support.peers import OK, answer, peer
from tests.support.waiting import wait_until

CLOSED = "The connection was closed before the answer was complete."
NOT_HTTP = "The answer is not HTTP."
TOO_LARGE = "The answer is too large for the API."
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
# A hundred times the deadline; without one, an exchange would last longer.
SOON = 30.0


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Let an exchange take as long as it does on a busy machine."""
    monkeypatch.setattr(recorded_exchange, "SECONDS", 2 * SOON)


@pytest.fixture
def short_deadline(monkeypatch, patience):
    monkeypatch.setattr(recorded_exchange, "SECONDS", 0.3)


def post(url: str, body: bytes = b"{}", unix_socket: str = "") -> RecordedExchange:
    return recorded_exchange.post(url, unix_socket, {"A": "b"}, body)


def test_what_is_recorded_is_what_the_other_side_sent_and_received():
    reply = answer(b'{"a": "\xd0\x9f"}', b"X-Odd:  spaced \t")
    with peer(reply) as server:
        exchange = post(server.url, b'{"text": "\xe2\x9c\x93"}')

    assert [exchange.sent] == server.requests
    assert exchange.received == reply
    assert exchange.body == b'{"a": "\xd0\x9f"}'
    assert exchange.response and exchange.response.status == 200
    assert not exchange.problem
    assert exchange.sent.startswith(b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:")


def test_ipv6_and_unix_sockets_work(tmp_path):
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with peer(answer(b"six"), host="::1") as server:
        exchange = post(server.url)
    assert exchange.body == b"six"
    assert b"\r\nHost: [::1]:" in exchange.sent

    path = tmp_path / "api.sock"
    with peer(answer(b"unix"), path=path):
        exchange = post("http://localhost/v1", unix_socket=str(path))
    assert exchange.body == b"unix"
    assert b"\r\nHost: localhost\r\n" in exchange.sent


def test_a_certificate_is_verified_with_the_store_of_the_machine(tmp_path, monkeypatch):
    authority = Authority(tmp_path / "authority")
    reply = answer(b"secret")
    with peer(reply, tls=authority.serves("127.0.0.1")) as server:
        refused = post(server.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
        trusted = post(server.url)
    with peer(reply, tls=authority.serves("localhost")) as server:
        other_host = post(server.url)

    assert "certificate" in refused.problem and not refused.sent
    assert trusted.body == b"secret"
    assert trusted.received == reply
    assert "certificate" in other_host.problem or "mismatch" in other_host.problem


def test_a_redirect_is_not_followed_and_no_proxy_is_used(monkeypatch):
    with peer() as elsewhere:
        monkeypatch.setenv("http_proxy", elsewhere.url)
        monkeypatch.setenv("no_proxy", "")
        location = b"Location: " + elsewhere.url.encode()
        with peer(answer(b"", location, status=b"307 X")) as server:
            exchange = post(server.url)

    assert exchange.response and exchange.response.status == 307
    assert elsewhere.requests == []


def test_the_answer_to_a_request_that_is_not_read_to_its_end_is_received():
    """The server refuses a large request after its head, and closes."""
    reply = answer(b"too large", status=b"413 X")

    def refuse_early(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(reply)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=refuse_early, args=(listener,), daemon=True).start()
        exchange = post(f"http://127.0.0.1:{port}/v1", b"x" * 60_000)

    assert exchange.body == b"too large"


@pytest.mark.parametrize(
    "parts, problem",
    [
        ([], CLOSED),
        ([b"\x00\xff\x1b[2J garbage\r\n\r\n"], NOT_HTTP),
        ([b"HTTP/1.1 999999999999 X\r\n\r\n"], NOT_HTTP),
        ([OK, b"X: y\r\n" * 200, b"\r\n"], NOT_HTTP),
        ([OK, b"Content-Length: 9\r\n\r\nabc"], CLOSED),
        ([CHUNKED, b"9\r\nabc"], CLOSED),
        ([CHUNKED, b"-5\r\nabc\r\n"], NOT_HTTP),
        ([CHUNKED, b"zz\r\nabc\r\n"], CLOSED),
        ([OK, b"Content-Length: 9999999999999\r\n\r\nabc"], CLOSED),
        ([OK, b"\r\n", b"x" * 100_000], TOO_LARGE),
        ([b"HTTP/1.1 100 X\r\n\r\n" * 10_000], TOO_LARGE),
        ([b"HTTP/1.1 200 " + b"O" * 100_000], TOO_LARGE),
    ],
)
def test_a_broken_answer_is_a_failure_and_is_recorded(parts, problem):
    with peer(*parts) as server:
        exchange = post(server.url)

    assert exchange.problem == problem
    assert exchange.received == b"".join(parts)[: len(exchange.received)]
    assert len(exchange.received) <= MAX_RECEIVED_BYTES
    assert bool(exchange.received) == bool(parts)


@pytest.mark.parametrize("parts", [(), (OK,), (OK, b"\r\nhalf")])
def test_a_server_that_hangs_is_not_waited_for(monkeypatch, parts):
    # The server needs some milliseconds to send the parts.
    monkeypatch.setattr(recorded_exchange, "SECONDS", 2.0 if parts else 0.3)
    begun = time.monotonic()
    with peer(*parts, hangs=True) as server:
        exchange = post(server.url)
        took = time.monotonic() - begun

    assert exchange.problem.startswith("No complete answer within")
    assert exchange.received == b"".join(parts)
    assert took < SOON


def test_a_look_up_that_hangs_is_not_waited_for_and_keeps_its_slot(
    short_deadline, monkeypatch
):
    released = threading.Event()
    hanging = [0]

    def hang(*_: object, **__: object) -> list[object]:
        hanging[0] += 1
        released.wait(60)
        return []

    with monkeypatch.context() as patch:
        patch.setattr(recorded_exchange, "_GRACE_SECONDS", 0.1)
        patch.setattr(socket, "getaddrinfo", hang)
        begun = time.monotonic()
        problems = {post("http://api.example.org/v1").problem for _ in range(2)}
        assert time.monotonic() - begun < SOON
        assert problems == {"No complete answer within 0.3 seconds."}
        with pytest.raises(NoFreeSlot):
            post("http://api.example.org/v1")
        released.set()
        wait_until(lambda: free_slots() == MAX_AT_ONCE, "the threads have ended")
    assert hanging == [2]


def free_slots() -> int:
    return recorded_exchange._slots.free
