"""A separate network for the probe, with dead routes and a DNS server.

No packet leaves this machine: a network namespace has no link to the outside.
Creating one requires root and the program `ip`.
"""

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.probe.gateway import Gateway, pass_on, running
from tests.support import name_server, namespaces
from tests.support.namespaces import Namespaces

_MACHINE = "probe"
_PROBE = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from readback.probe.transport.context import ProbeContext
from readback.probe.entered.key import Secret
from readback.probe.runner import ProbeRun
from readback.probe.runner import STEPS
urls, key, timeout, steps = json.loads(sys.stdin.read())
chosen = tuple(step for step in STEPS if step.id in steps)
def probe(url):
    context = ProbeContext(url, Secret(key), timeout)
    report = ProbeRun(context).run(chosen)
    results = [
        (result.diagnosis.id, result.diagnosis.sentence) for result in report.results
    ]
    return results, report.seconds
with ThreadPoolExecutor(len(urls)) as pool:
    print(json.dumps(list(pool.map(probe, urls))))
"""


def missing() -> str:
    """Return why this machine cannot create such a network, or ""."""
    if reason := namespaces.why_not():
        return reason
    try:
        with namespace() as network:
            network.ip("-6 address add 2001:db8::1/64 dev lo")
    except (OSError, subprocess.CalledProcessError) as error:
        return f"cannot use IPv6 in a network namespace: {error}"
    return ""


@dataclass(frozen=True)
class Findings:
    """What the probe found: sentences by id, and how long it took."""

    sentences: dict[str, str]
    seconds: float


@dataclass(frozen=True)
class Namespace:
    machines: Namespaces

    def ip(self, *commands: str) -> None:
        self.machines.ip(_MACHINE, *commands)

    def entered(self) -> AbstractContextManager[None]:
        """Move this thread into the namespace; the sockets that it opens stay there."""
        return self.machines.on(_MACHINE)

    @contextmanager
    def gateway(self, upstream: str, host: str, port: int = 0) -> Iterator[int]:
        """Run a gateway in the namespace to a service outside; yield its port."""
        with self.entered():
            server = Gateway(upstream, pass_on, (host, port))
        with running(server):
            yield server.port

    @contextmanager
    def resolving(self, answer: name_server.Answer) -> Iterator[None]:
        """Run the namespace's only DNS server."""
        with self.entered():
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("127.0.0.1", 53))
        thread = threading.Thread(target=name_server.serve, args=(sock, answer))
        thread.start()
        try:
            yield
        finally:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
            thread.join()

    def probe(
        self,
        urls: Sequence[str],
        key: str,
        steps: tuple[str, ...] = ("address", "key", "proxies", "dns", "tcp"),
        *,
        timeout: float = 5.0,
    ) -> list[Findings]:
        """Run these steps for all URLs in one new process in the namespace."""
        # Unlike nsenter, this also uses the namespace's DNS settings.
        name = self.machines.namespace(_MACHINE)
        command = ["ip", "netns", "exec", name, sys.executable, "-c", _PROBE]
        done = subprocess.run(
            command,
            input=json.dumps([urls, key, timeout, steps]),
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        reports = json.loads(done.stdout)
        return [Findings(dict(results), seconds) for results, seconds in reports]


@contextmanager
def namespace() -> Iterator[Namespace]:
    machines = Namespaces()
    files = Path("/etc/netns") / machines.namespace(_MACHINE)
    try:
        machines.add_namespace(_MACHINE)
        files.mkdir(parents=True)
        (files / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:5\n")
        (files / "hosts").write_text("127.0.0.1 localhost\n")
        yield Namespace(machines)
    finally:
        machines.remove()
        shutil.rmtree(files, ignore_errors=True)
