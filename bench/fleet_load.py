"""The load on a fleet: requests with many keys, over HTTP/1.1, TLS and HTTP/2.

wrk sends the keys in turn, h2load one key over HTTP/2. Both run on the last core.
"""

import json
import re
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import PATIENCE
from tests.support.wire import Connection, Endpoint

from bench import proc
from bench.errors import MeasurementError
from bench.messages import PATH, Request

CONNECTIONS = 32
SCRIPT = Path(__file__).parent / "keys.lua"
# What HAProxy adds to a request, for requests that do not pass through it.
FORWARDED = {"X-Forwarded-For": "127.0.0.1"}


@dataclass(frozen=True)
class KeyFile:
    """Keys, one per line, and the body that is sent with each."""

    keys: Sequence[str]
    path: Path
    body: Path


@contextmanager
def key_file(keys: Sequence[str]) -> Iterator[KeyFile]:
    with tempfile.TemporaryDirectory() as folder:
        path, body = Path(folder, "keys"), Path(folder, "body")
        path.write_text("\n".join(keys) + "\n")
        body.write_bytes(Request("").body)
        yield KeyFile(keys, path, body)


def send(
    endpoint: Endpoint,
    keys: KeyFile,
    seconds: float,
    rate: float = 0,
    headers: dict[str, str] | None = None,
) -> int:
    """Send chat requests at about this rate (0: as many as are answered); count them.

    wrk waits after each response, so the rate is lower if responses are late.
    """
    pause = round(1000 * CONNECTIONS / rate) if rate else 0
    url = f"{'https' if endpoint.tls else 'http'}://{endpoint.authority}{PATH}"
    command = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS)]
    command += ["--duration", f"{max(1, round(seconds))}s", "--timeout", "10s"]
    command += ["--script", str(SCRIPT), url, "--", str(pause)]
    command += [str(keys.path), str(keys.body)]
    fields = {"Content-Type": "application/json"} | (headers or {})
    command += [f"{name}: {value}" for name, value in fields.items()]
    found = json.loads(_run(command).rpartition("RESULT ")[2])
    if found["refused"] or found["broken"]:
        raise MeasurementError(f"valid requests were refused or failed: {found}")
    return int(found["requests"])


def send_http2(
    endpoint: Endpoint, keys: KeyFile, seconds: float, rate: float = 0
) -> int:
    """Send chat requests with the first key over HTTP/2 and TLS; count them."""
    clients = CONNECTIONS // 4
    command = ["h2load", "--clients", str(clients), "--max-concurrent-streams", "4"]
    command += ["--duration", str(max(1, round(seconds))), "--data", str(keys.body)]
    command += ["--header", "content-type: application/json"]
    command += ["--header", f"authorization: Bearer {keys.keys[0]}"]
    if rate:
        command += ["--rps", str(rate / clients)]
    output = _run([*command, f"https://{endpoint.authority}{PATH}"])
    status = re.search(
        r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", output
    )
    if not status or any(map(int, status.groups()[1:])) or not int(status[1]):
        raise MeasurementError(f"h2load failed: {output.strip()[-300:]}")
    return int(status[1])


@contextmanager
def idle_connections(endpoint: Endpoint, key: str, number: int) -> Iterator[None]:
    """Keep connections over TLS open, each after one request."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = Request(key).to_bytes(endpoint.port)
    with ExitStack() as stack:
        for _ in range(number):
            plain = socket.create_connection((endpoint.host, endpoint.port), PATIENCE)
            connection = stack.enter_context(Connection(context.wrap_socket(plain)))
            connection.send(request)
            if connection.read_answer().status != 200:
                raise MeasurementError("an idle connection was refused")
        yield


def exchange_bytes(endpoint: Endpoint, key: str) -> tuple[int, int]:
    """Return the size of a request and of its response over HTTP/1.1."""
    request = Request(key).to_bytes(endpoint.port)
    with endpoint.connect() as connection:
        connection.send(request)
        answer = connection.read_answer()
    return len(request), len(answer.head) + 4 + len(answer.body)


def _run(command: list[str]) -> str:
    with proc.on_core(-1):
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise MeasurementError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout
