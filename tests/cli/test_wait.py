"""`readback wait`: how it recognises a server that is ready, and what it says if not.

What it says about a real server is in `test_examples.py`, which runs one.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from readback.cli import main, readiness
from tests.cli.program import Program
from tests.support.authority import Authority
from tests.support.commands import free_port
from tests.support.peers import answer, peer
from tests.support.waiting import PATIENCE

REFUSED = (401, b'{"error":{"code":"invalid_key"}}')


@contextmanager
def answering(*answers: tuple[str, int, bytes]) -> Iterator[str]:
    """Yield the address of a server with these paths; others are not found."""
    known = {path: (status, body) for path, status, body in answers}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = known.get(self.path, (404, b""))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wait(program: Program, url: str, timeout: str = "60s"):
    return program.run("wait", url, "--timeout", timeout)


class OverAfterOneAttempt(threading.Event):
    """A time-out of an hour is over when the first attempt has been reported."""

    def __init__(self) -> None:
        super().__init__()
        self._reported = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        if timeout == 3600:
            assert self._reported.wait(PATIENCE)
            return self.is_set()
        # The pause between two attempts: there is no second one.
        self._reported.set()
        return True


class OneAttempt(readiness.Attempts):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.succeeded = OverAfterOneAttempt()


def attempt_once(monkeypatch: pytest.MonkeyPatch, url: str) -> Result:
    """Run the command here, where its time-out does not depend on the machine."""
    monkeypatch.setattr(readiness, "Attempts", OneAttempt)
    return CliRunner().invoke(main, ["wait", url, "--timeout", "1h"])


@pytest.mark.parametrize(
    ("path", "answers"),
    [
        ("/v1", [("/v1/models", *REFUSED)]),
        ("/v1/", [("/v1/models", *REFUSED)]),
        ("", [("/v1/models", *REFUSED)]),
        ("", [("/readyz", 200, b"ready")]),
        ("", [("/healthz", 200, b"ok")]),
        # A cabinet whose address has another name, as in a container.
        ("", [("/v1/models", 400, b""), ("/readyz", 400, b""), ("/healthz", 200, b"")]),
    ],
)
def test_a_ready_server_is_recognised_without_a_key(program, path, answers):
    # A proxy would not reach this machine's own address.
    program.settings["http_proxy"] = "http://127.0.0.1:9"
    with answering(*answers) as origin:
        done = wait(program, origin + path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_redirect_is_followed(program):
    with answering(("/v1/models", *REFUSED)) as ready:
        location = b"Location: " + ready.encode() + b"/v1/models"
        with peer(answer(b"", location, status=b"302 X")) as server:
            done = wait(program, server.url)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_another_machine_is_reached_through_the_proxy(program, tmp_path, scheme):
    authority = Authority(tmp_path / "authority")
    program.settings["SSL_CERT_FILE"] = str(authority.root)
    reply = answer(REFUSED[1], status=b"401 X")
    name = "api.example.test"
    tls = authority.serves(name) if scheme == "https" else None
    with peer(reply, tls=tls) as server, tunnels_to(server.url) as proxy:
        if scheme == "https":
            program.settings["https_proxy"] = proxy
        else:
            program.settings["http_proxy"] = server.url
        done = wait(program, f"{scheme}://{name}/v1")

    assert (done.returncode, done.stderr) == (0, "")
    assert f"\r\nHost: {name}\r\n".encode() in server.requests[0]


@contextmanager
def tunnels_to(url: str) -> Iterator[str]:
    """Yield the address of a proxy whose tunnels all lead to this server."""

    def forward(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve(listener: socket.socket) -> None:
        parts = urlsplit(url)
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((parts.hostname, parts.port))
                with client, server:
                    asked = client.recv(65_536)
                    assert asked.startswith(b"CONNECT api.example.test:443 ")
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    there = threading.Thread(target=forward, args=(client, server))
                    there.start()
                    forward(server, client)
                    there.join(PATIENCE)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)


@pytest.mark.parametrize(
    ("path", "answers", "seen"),
    [
        ("/v1", [("/v1/models", 503, b"")], "/models with status 503"),
        ("/v1", [("/v1/models", 200, b"{}")], "/models with status 200"),
        ("/v1", [("/v1/models", 401, b"login")], "/models with status 401"),
        (
            "",
            [("/readyz", 503, b""), ("/healthz", 200, b"ok")],
            "/readyz with status 503",
        ),
    ],
)
def test_the_last_answer_is_named_at_the_timeout(monkeypatch, path, answers, seen):
    with answering(*answers) as origin:
        done = attempt_once(monkeypatch, origin + path)

    assert done.exit_code == 1
    waiting, failed = done.stderr.splitlines()
    assert waiting == f"Waiting for {origin}{path}: it answered {seen}."
    assert failed == f"Error: {origin}{path} is not ready: it answered {seen}."


def test_a_server_that_starts_later_is_waited_for(program):
    port = free_port()
    done = []
    url = f"http://127.0.0.1:{port}/v1"
    waiting = threading.Thread(target=lambda: done.append(wait(program, url)))
    waiting.start()

    with socket.create_server(("127.0.0.1", port)) as listener:
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            client.sendall(
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 32\r\n\r\n" + REFUSED[1]
            )
            waiting.join()
    assert done[0].returncode == 0


def test_a_server_that_never_answers_does_not_delay_the_timeout(program):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        done = wait(program, f"http://127.0.0.1:{port}", "200ms")

    assert done.returncode == 1
    assert done.stderr.endswith("is not ready: no answer yet.\n")


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://127.0.0.1:{closed}/v1", "connection refused"),
        ("http://a..b", "the name of the host is not valid"),
        ("https://127.0.0.1:{http}", "it does not answer with TLS"),
    ],
)
def test_a_missing_answer_is_explained(monkeypatch, url, seen):
    closed = free_port()
    with answering() as origin:
        address = url.format(closed=closed, http=origin.rpartition(":")[2])
        done = attempt_once(monkeypatch, address)

    assert done.exit_code == 1
    assert f"is not ready: {seen}" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1", "--timeout", "30"],
        ["http://127.0.0.1", "--timeout", "0s"],
        ["http://127.0.0.1", "--timeout", "soon"],
        ["127.0.0.1:8000"],
        ["ftp://127.0.0.1/v1"],
        ["http://alice:secret@127.0.0.1/v1"],
        ["http://127.0.0.1/v1/models"],
        ["http://127.0.0.1/v1?x=1"],
        ["http://[::1/v1"],
        ["http://127.0.0.1:99999/v1"],
        ["http://two words/v1"],
    ],
    ids=" ".join,
)
def test_a_wrong_address_or_duration_is_a_usage_error(program, arguments):
    done = program.run("wait", *arguments)

    assert done.returncode == 2
    assert "secret" not in done.stderr
