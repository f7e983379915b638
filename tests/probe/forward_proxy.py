"""A working forward proxy on loopback, for tunnels and for plain HTTP requests."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from tests.probe.gateway import Call, Gateway, Reply, pass_on, running

LOGIN = "alice:hush"


class ForwardProxy(Gateway):
    def __init__(self, login: str, tls: ssl.SSLContext | None) -> None:
        super().__init__("", self._answer, tls=[tls] if tls else [])
        self.login = login
        self.forwarded: list[str] = []
        """The methods of the requests that were forwarded."""

    def _answer(self, call: Call) -> Reply:
        token = base64.b64encode(self.login.encode()).decode()
        if call["Proxy-Authorization"] != f"Basic {token}":
            return Reply(407)
        self.forwarded.append(call.method)
        target = urlsplit(call.target)
        if call.method != "CONNECT":
            path = target._replace(scheme="", netloc="").geturl()
            return pass_on(replace(call, target=path), target.netloc)
        host, _, port = call.target.rpartition(":")
        # Only this proxy knows the hosts under .example.
        address = "127.0.0.1" if host.endswith(".example") else host.strip("[]")
        return Reply(200, tunnel_to=(address, int(port)))


@contextmanager
def forward_proxy(
    tls: ssl.SSLContext | None = None, login: str = LOGIN
) -> Iterator[ForwardProxy]:
    server = ForwardProxy(login, tls)
    with running(server):
        yield server
