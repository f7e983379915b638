"""Runs real programs in a network of their own, and records where each request goes.

It is a script for `unshare --net --mount`, so nothing that a program does can leave
this machine: the names in `HOSTS` lead to addresses of the loopback interface. It reads
cases as JSON from standard input and prints for each a letter and the Authorization
header that arrived: A or B for the proxy that was used, S for the SOCKS proxy, D for a
direct connection, F for none.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PROXIES = {"A": 3101, "B": 3102, "S": 1080}
ORIGIN = (80, 443, 8080)
ADDRESSES = ("10.9.8.7", "fd00::7")
HOSTS = (
    "127.0.0.1 localhost sub.localhost\n"
    "::1 localhost\n"
    "10.9.8.7 api.example.test example.test notexample.test\n"
)
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n"
    b'Connection: close\r\n\r\n{"object":"list","data":[]}'
)
REFUSAL = b"HTTP/1.1 502 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
SECONDS = 30
_SETTINGS = ("proxy", "request_method", "netrc", "node_", "java_", "ssl_cert")


class Recorder:
    """Servers that note who was reached, and the Authorization header."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.authorization = ""
        for letter, port in PROXIES.items():
            self._serve(letter, port)
        for port in ORIGIN:
            self._serve("D", port)

    def _serve(self, letter: str, port: int) -> None:
        server = socket.create_server(
            ("::", port), family=socket.AF_INET6, dualstack_ipv6=True
        )
        threading.Thread(
            target=self._accept, args=(letter, server), daemon=True
        ).start()

    def _accept(self, letter: str, server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            connection.settimeout(SECONDS)
            with connection:
                self._answer(letter, connection)

    def _answer(self, letter: str, connection: socket.socket) -> None:
        try:
            head = connection.recv(65536)
            self.reached.append(letter)
            if not head[:1].isalpha():  # TLS or SOCKS
                return
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            for line in head.decode("latin-1").split("\r\n"):
                if line.lower().startswith("authorization:"):
                    self.authorization = line.partition(": ")[2]
            connection.sendall(REFUSAL if head.startswith(b"CONNECT") else RESPONSE)
        except OSError:
            pass


def prepare_network() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ADDRESSES:
        more = ["nodad"] if ":" in address else []
        command = ["ip", "address", "add", address, "dev", "lo", *more]
        subprocess.run(command, check=True)
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(HOSTS)
    subprocess.run(["mount", "--bind", file.name, "/etc/hosts"], check=True)
    Path(file.name).unlink()


def ask_in_this_process(package: str, url: str) -> None:
    module = importlib.import_module(package)
    if package == "openai":
        base = url.removesuffix("/models")
        with module.OpenAI(
            api_key="key", base_url=base, timeout=SECONDS, max_retries=0
        ) as client:
            client.models.list()
    else:
        module.get(url, headers={"Authorization": "Bearer key"}, timeout=SECONDS)


def ask(command: list[str], url: str) -> None:
    if command[0] == "import":
        try:
            ask_in_this_process(command[1], url)
        except Exception:
            return
    else:
        subprocess.run(
            [*command, url], capture_output=True, stdin=subprocess.DEVNULL, timeout=60
        )


def main() -> None:
    prepare_network()
    recorder = Recorder()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().startswith(_SETTINGS) and "proxy" not in name.lower()
    }
    results = []
    for case in json.load(sys.stdin):
        os.environ.clear()
        os.environ.update({**kept, **case["variables"]})
        recorder.reached.clear()
        recorder.authorization = ""
        ask(case["command"], case["url"])
        reached = recorder.reached[0] if recorder.reached else "F"
        results.append([reached, recorder.authorization])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
