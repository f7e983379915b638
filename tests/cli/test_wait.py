"""`readback wait`: how it recognizes a ready server, and what it prints otherwise."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner, Result

from readback.cli import main
from tests.support.commands import free_port

REFUSED = (401, b'{"error":{"code":"invalid_key"}}')


@contextmanager
def answering(*answers: tuple[str, int, bytes]) -> Iterator[str]:
    """Yield the address of a server with these paths; any other path gets a 404."""
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


def wait(url: str, timeout: str = "60s") -> Result:
    return CliRunner().invoke(main, ["wait", url, "--timeout", timeout])


@pytest.fixture
def only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command ask only once: a second request would come after the timeout.

    With a short timeout, a busy machine might not answer the only request in time.
    """
    # The attribute `wait` of `readback.cli` is the command, not the module.
    module = sys.modules["readback.cli.wait"]
    monkeypatch.setattr(module, "_POLL_SECONDS", 100.0)


@pytest.mark.parametrize(
    ("path", "answers"),
    [
        ("/v1/", [("/v1/models", *REFUSED)]),
        ("", [("/v1/models", *REFUSED)]),
        ("", [("/readyz", 200, b"ready")]),
        ("", [("/healthz", 200, b"ok")]),
        # A cabinet that does not know this host name, as in a container.
        ("", [("/v1/models", 400, b""), ("/readyz", 400, b""), ("/healthz", 200, b"")]),
    ],
)
def test_a_ready_server_is_recognised_without_a_key(path, answers):
    with answering(*answers) as origin:
        done = wait(origin + path)

    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.parametrize(
    ("path", "answers", "seen"),
    [
        ("/v1", [("/v1/models", 503, b"")], "/models with status 503"),
        (
            "",
            [("/readyz", 503, b""), ("/healthz", 200, b"ok")],
            "/readyz with status 503",
        ),
    ],
)
def test_the_last_answer_is_named_at_the_timeout(path, answers, seen, only_once):
    with answering(*answers) as origin:
        done = wait(origin + path)

    assert done.exit_code == 1
    assert done.stderr == f"Error: {origin}{path} is not ready: it answered {seen}.\n"


def test_a_server_that_starts_later_is_waited_for():
    port = free_port()
    done = []
    url = f"http://127.0.0.1:{port}/v1"
    waiting = threading.Thread(target=lambda: done.append(wait(url)))
    waiting.start()

    with socket.create_server(("127.0.0.1", port)) as listener:
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            client.sendall(
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 32\r\n\r\n" + REFUSED[1]
            )
            waiting.join()
    assert done[0].exit_code == 0


def test_a_server_that_never_answers_does_not_delay_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = wait(f"http://127.0.0.1:{silent.getsockname()[1]}", "200ms")

    assert done.exit_code == 1
    assert "is not ready: timed out" in done.stderr


def test_a_missing_answer_is_explained(only_once):
    done = wait(f"http://127.0.0.1:{free_port()}/v1")

    assert done.exit_code == 1
    assert "is not ready: connection refused." in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1", "--timeout", "30"],
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
def test_a_wrong_address_or_duration_is_a_usage_error(arguments):
    done = CliRunner().invoke(main, ["wait", *arguments])

    assert done.exit_code == 2
    assert "secret" not in done.stderr
