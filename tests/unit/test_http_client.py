"""A request ends in time, its answer is bounded, and slots limit the threads."""

import socket
import ssl
import threading
import time
from contextlib import suppress
from http.client import HTTPException, IncompleteRead

import pytest
from tests.support.authority import Authority
from tests.support.peers import OK, answer, peer
from tests.support.programs import needed_address
from tests.support.waiting import wait_until

from readback.http_client import AnswerTooLarge, NoFreeSlot, Slots, send

# A hundred times as long as a request should take.
SOON = 30.0


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_server_is_asked_whatever_its_family(host):
    family = socket.AF_INET6 if ":" in needed_address(host) else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        serve_once(listener, answer(b"no", status=b"503 X"))
        name = f"[{host}]" if ":" in host else host
        reply = send("GET", f"http://{name}:{listener.getsockname()[1]}/", SOON)
        assert (reply.status, reply.body) == (503, b"no")


def serve_once(listener: socket.socket, *parts: bytes, pause: float = 0) -> None:
    def serve() -> None:
        # The other side may close first, even before this thread accepts.
        with suppress(OSError), listener.accept()[0] as client:
            client.recv(65_536)
            for part in parts:
                client.sendall(part)
                threading.Event().wait(pause)

    threading.Thread(target=serve, daemon=True).start()


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([], ConnectionResetError),
        ([b"\x00\xff\x1b[2J garbage\r\n\r\n"], HTTPException),
        ([b"HTTP/1.1 999999999999 X\r\n\r\n"], HTTPException),
        ([OK, b"X: y\r\n" * 200, b"\r\n"], HTTPException),
        ([OK, b"Content-Length: 9\r\n\r\nabc"], IncompleteRead),
        ([CHUNKED, b"9\r\nabc"], IncompleteRead),
        ([CHUNKED, b"-5\r\nabc\r\n"], ValueError),
        ([CHUNKED, b"fffffffffff\r\nabc"], IncompleteRead),
        ([CHUNKED, b"zz\r\nabc\r\n"], IncompleteRead),
        ([OK, b"Content-Length: 9999999999999\r\n\r\nabc"], IncompleteRead),
        ([OK, b"\r\n", b"x" * 100_000], AnswerTooLarge),
        ([b"HTTP/1.1 100 X\r\n\r\n" * 10_000], HTTPException),
        ([b"HTTP/1.1 200 " + b"O" * 100_000], HTTPException),
    ],
)
def test_a_broken_or_endless_answer_is_an_error(parts, error):
    with peer(*parts) as server, pytest.raises(error):
        send("GET", server.url, SOON)


def test_a_certificate_is_verified_with_the_store_of_the_machine(tmp_path, monkeypatch):
    authority = Authority(tmp_path / "authority")
    reply = answer(b"secret")
    with peer(reply, tls=authority.serves("127.0.0.1")) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            send("POST", server.url, SOON)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
        assert send("POST", server.url, SOON).body == b"secret"
    other_name = authority.serves("localhost")
    refused = pytest.raises(ssl.SSLCertVerificationError)
    with peer(reply, tls=other_name) as server, refused:
        send("POST", server.url, SOON)


def test_the_query_of_a_url_is_sent():
    with peer(answer(b"x")) as server:
        send("GET", f"{server.url}/keys?p=one&q=%20two", SOON)
        send("GET", f"{server.url.removesuffix('/v1')}?p=one", SOON)
    lines = [request.partition(b"\r\n")[0] for request in server.requests]
    targets = (b"/v1/keys?p=one&q=%20two", b"/?p=one")
    assert lines == [b"GET %b HTTP/1.1" % target for target in targets]


def test_a_redirect_is_not_followed_and_no_proxy_is_used(monkeypatch):
    with peer() as elsewhere:
        monkeypatch.setenv("http_proxy", elsewhere.url)
        monkeypatch.setenv("no_proxy", "")
        location = b"Location: " + elsewhere.url.encode()
        with peer(answer(b"", location, status=b"307 X")) as server:
            assert send("POST", server.url, SOON).status == 307

    assert elsewhere.requests == []


def test_the_answer_to_a_request_that_is_not_read_to_its_end_is_received():
    """The server refuses a large request after reading its head, and disconnects."""
    reply = answer(b"too large", status=b"413 X")

    def refuse_early(listener: socket.socket) -> None:
        with suppress(OSError), listener.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(reply)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=refuse_early, args=(listener,), daemon=True).start()
        url = f"http://127.0.0.1:{port}/v1"
        assert send("POST", url, SOON, body=b"x" * 60_000).body == b"too large"


@pytest.mark.parametrize("head", [b"", OK + b"\r\n"], ids=["head", "body"])
def test_a_server_that_sends_a_byte_now_and_then_is_not_waited_for(head):
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serve_once(listener, head, *[b"H"] * 1000, pause=0.05)
        with pytest.raises(TimeoutError):
            send("GET", f"http://127.0.0.1:{listener.getsockname()[1]}/", 0.3)
    assert time.monotonic() - begun < SOON


def test_a_result_and_an_error_reach_the_caller():
    slots = Slots(1)
    assert slots.run(lambda: 7, 60) == 7
    with pytest.raises(ZeroDivisionError):
        slots.run(lambda: 1 // 0, 60)
    assert slots.run(lambda: 8, 60) == 8


def test_a_slot_is_in_use_until_its_thread_ends():
    slots = Slots(1)
    end = threading.Event()
    with pytest.raises(TimeoutError):
        slots.run(end.wait, 0.01)
    with pytest.raises(NoFreeSlot):
        slots.run(end.wait, 60)
    end.set()
    wait_until(lambda: slots._free._value == 1, "the thread has ended")


def test_a_thread_that_cannot_be_started_gives_its_slot_back(monkeypatch):
    slots = Slots(1)

    def fail(self: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(NoFreeSlot):
            slots.run(lambda: None, 60)
    assert slots.run(lambda: 7, 60) == 7
