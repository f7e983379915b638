"""Replicas that the balancer finds by a DNS name, as with Compose and on Kubernetes.

HAProxy and its configuration are real. The name server and the replicas are simulated:
a replica only returns its address, because the tests check where HAProxy sends a key.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, UDPServer
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.fleet.balancer import SHIPPED, haproxy
from tests.support.commands import free_port
from tests.support.haproxy import on_loopback
from tests.support.name_server import respond
from tests.support.peers import serving
from tests.support.programs import needed_program
from tests.support.waiting import wait_until

# Loopback addresses that no other test uses.
ADDRESSES = [f"127.89.{os.getpid() % 250}.{number}" for number in (1, 2, 3)]
KEYS = [f"key-{number}" for number in range(40)]
HAS_HASH_KEY = (3, 0)


class Replica(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"errors": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Replica", self.server.server_address[0])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class NameServer(UDPServer):
    """Answers every question with the given addresses, in the same order."""

    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), BaseRequestHandler)
        self.addresses = list(addresses)
        self.port = self.server_address[1]
        self.questions = 0

    def change(self, addresses: Sequence[str]) -> None:
        """Change the answer, and wait until HAProxy has asked several times."""
        self.addresses = list(addresses)
        enough = self.questions + 4
        wait_until(lambda: self.questions > enough, "HAProxy asks again", 30)

    def finish_request(self, request: Any, client_address: Any) -> None:
        query, sock = request
        self.questions += 1
        # HAProxy may have ended in the meantime.
        with suppress(OSError):
            sock.sendto(respond(query, lambda name: self.addresses), client_address)


@pytest.fixture(scope="module", autouse=True)
def replicas() -> Iterator[None]:
    with ExitStack() as stack:
        for address in ADDRESSES:
            for port in (8000, 8002):
                server = ThreadingHTTPServer((address, port), Replica)
                stack.enter_context(serving(server))
        yield


@contextmanager
def balancer(folder: Path, names: NameServer) -> Iterator[str]:
    """Run HAProxy; yield the URL at which it serves the API."""
    port = free_port()
    text = SHIPPED.read_text().replace("bind :8080", f"bind 127.0.0.1:{port}")
    assert "    parse-resolv-conf\n" in text
    server = f"    nameserver test 127.0.0.1:{names.port}\n"
    text = text.replace("    parse-resolv-conf\n", server)
    file = folder / f"{port}.cfg"
    file.write_text(on_loopback(text, "127.0.0."))
    log = file.with_suffix(".log")
    command = [needed_program("haproxy"), "-db", "-n", "400", "-f", str(file)]
    variables = {"API_NAME": "api.example", "CABINET_NAME": "api.example"}
    url = f"http://127.0.0.1:{port}/"
    with haproxy(command, log, variables) as process:
        wait_until(
            lambda: process.poll() is not None or reached(url) == set(names.addresses),
            lambda: f"HAProxy reaches all replicas: {log.read_text()}",
            30,
        )
        assert process.poll() is None, log.read_text()
        yield url


@contextmanager
def name_server(addresses: Sequence[str]) -> Iterator[NameServer]:
    server = NameServer(addresses)
    with serving(server):
        yield server


def replica_of(url: str, key: str) -> str:
    try:
        answer = urlopen(Request(url, headers={"Authorization": f"Bearer {key}"}))
    except OSError:
        return "none"
    with answer:
        return answer.headers["X-Replica"]


def reached(url: str) -> set[str]:
    return {replica_of(url, key) for key in KEYS}


def version() -> tuple[int, ...]:
    text = subprocess.check_output([needed_program("haproxy"), "-v"], text=True)
    [found] = re.findall(r"^HAProxy version (\d+)\.(\d+)", text)
    return tuple(map(int, found))


@pytest.mark.parametrize("left", [ADDRESSES[1:], []], ids=["some", "none"])
def test_an_address_that_leaves_the_name_keeps_its_keys_until_its_check_fails(
    tmp_path, left
):
    with name_server(ADDRESSES) as names, balancer(tmp_path, names) as url:
        before = {key: replica_of(url, key) for key in KEYS}
        names.change(left)
        assert {key: replica_of(url, key) for key in KEYS} == before


def test_two_balancers_agree_on_the_replica_of_every_key(tmp_path):
    if version() < HAS_HASH_KEY:
        pytest.skip("needs HAProxy 3.0: earlier ones hash the position in the answer")
    with (
        name_server(ADDRESSES) as names,
        name_server(ADDRESSES[::-1]) as reversed_names,
        balancer(tmp_path, names) as one,
        balancer(tmp_path, reversed_names) as two,
    ):
        first = {key: replica_of(one, key) for key in KEYS}
        assert {key: replica_of(two, key) for key in KEYS} == first
