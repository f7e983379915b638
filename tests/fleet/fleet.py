"""The whole fleet: PostgreSQL, three API replicas, two cabinets and HAProxy."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet import balancer, database_machine
from tests.fleet.balancer import Balancer
from tests.fleet.database_machine import DatabaseMachine
from tests.fleet.member import START_SECONDS, Member
from tests.fleet.network import Network, network
from tests.support.api import Api
from tests.support.traffic import Prepare, Traffic, echoes, pages, traffic
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

REPLICAS = {"one": 11, "two": 12, "three": 13}
CABINETS = {"cabinet1": 21, "cabinet2": 22}
# How many requests are answered before and after a test changes the fleet.
WARM_UP_REQUESTS = 100
PAUSES = (0.04,)


@dataclass
class Fleet:
    """A running fleet. Requests go through the balancer."""

    network: Network
    database: DatabaseMachine
    balancer: Balancer
    replicas: dict[str, Member]
    cabinets: dict[str, Member]

    @property
    def members(self) -> list[Member]:
        return [*self.replicas.values(), *self.cabinets.values()]

    def start_all(self) -> None:
        """Start every replica and cabinet that is not running."""
        for member in self.members:
            if not member.is_running:
                member.begin()
        for member in self.members:
            member.wait_until_ready()

    def run(self, *arguments: str) -> str:
        """Run a command on a machine in the fleet; return its stdout."""
        member = self.replicas["one"]
        with self.network.on(member.machine):
            return subprocess.check_output(
                [sys.executable, "-m", "readback", *arguments],
                env=member.environment,
                text=True,
                timeout=60,
            )

    def new_keys(self, number: int) -> list[str]:
        """Add an account with this many keys; return the keys."""
        return self.database.sql.new_keys(number)

    def ask(self, key: str) -> int:
        """Return the status of a request with a key."""
        return Api(balancer.API, key).models().status

    @contextmanager
    def under_load(self, keys: list[str]) -> Iterator[Traffic]:
        """Send echoes with these keys during the block; print the counts."""
        with self._counted(balancer.API, echoes(balancer.API, keys)) as seen:
            yield seen

    @contextmanager
    def visited(self) -> Iterator[Traffic]:
        """Open pages of the cabinet during the block; print the counts."""
        with self._counted(balancer.CABINET, pages(balancer.CABINET)) as seen:
            yield seen

    def wait_until_healthy(self) -> None:
        """Wait until the balancer sends requests to every machine."""
        wait_until(
            lambda: all(state == "UP" for state in self._states().values()),
            lambda: f"all servers are up: {self._states()}",
            START_SECONDS,
        )

    def _states(self) -> dict[str, str]:
        servers = self.balancer.servers
        return servers("replicas") | {
            f"cabinet {name}": state for name, state in servers("cabinets").items()
        }

    @contextmanager
    def _counted(self, endpoint: Endpoint, prepare: Prepare) -> Iterator[Traffic]:
        before = self.balancer.retries()
        with traffic(endpoint, prepare, pauses=PAUSES) as seen:
            seen.wait_for(WARM_UP_REQUESTS)
            yield seen
            seen.wait_for(WARM_UP_REQUESTS)
        seen.retried = self.balancer.retries() - before
        print(seen)


@contextmanager
def fleet(folder: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        wires = stack.enter_context(network())
        database = stack.enter_context(database_machine.database_machine(wires))
        made = Fleet(
            wires,
            database,
            stack.enter_context(balancer.balancer(wires, folder)),
            {
                name: Member(wires, name, n, "api", folder)
                for name, n in REPLICAS.items()
            },
            {
                name: Member(wires, name, n, "cabinet", folder)
                for name, n in CABINETS.items()
            },
        )
        for member in made.members:
            wires.add_machine(member.machine, member.number)
            stack.callback(member.kill)
        made.run("migrate")
        yield made
        for member in made.members:
            member.check_log()
