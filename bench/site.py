"""Where a fleet is measured: one PostgreSQL, the fleets on it, and what they count."""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.support.authority import Authority
from tests.support.database import Database
from tests.support.load import chat, spread
from tests.support.metrics import metrics
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

from bench import proc
from bench.errors import MeasurementError
from bench.fleet import FRONT, Balancer, Ports, Replica, balancer, replicas
from bench.fleet_model import SETTINGS
from bench.single_worker import start_postgres
from readback import keys
from readback.api.data.store import TRIM_EVERY
from readback.contract import JOURNAL_ROWS

_COUNTS = """
SELECT (SELECT last_value FROM cabinet_journalentry_id_seq),
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'),
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())
"""
# The journals of keys that have been in use for long: every row has to push one out.
_FULL_JOURNALS = f"""
INSERT INTO cabinet_journalentry (key_id, at, endpoint, status, code, detail,
    differences, accepted, request_bytes, answer_bytes, user_agent, client_address,
    requests)
SELECT k.id, now(), 'chat', 200, '', '', '', true, 98, 300, 'example/1.0', '{FRONT}', 1
FROM cabinet_key k, generate_series(1, {JOURNAL_ROWS}) WHERE k.owner_id = ?
"""


@dataclass(frozen=True)
class Work:
    """What was done in a time: counts, CPU-seconds and bytes."""

    seconds: float
    requests: int
    statements: float
    transactions: float
    rows: float
    wal_bytes: float
    workers: float
    balancer: float
    database: float


class Running:
    """A fleet that runs."""

    def __init__(
        self, place: "Site", members: Sequence[Replica], front: Balancer | None
    ) -> None:
        self._site, self._replicas, self._balancer = place, members, front

    @property
    def balancer(self) -> Balancer:
        assert self._balancer
        return self._balancer

    @property
    def front(self) -> Endpoint:
        """Where clients send their requests."""
        return self._balancer.http if self._balancer else self._replicas[0].endpoint

    def measure(self, run: Callable[[], object]) -> Work:
        """Run something, and return the work that it has caused.

        If it returns a number, that many requests were sent.
        """
        # Counting costs a little, so it is outside of the CPU time.
        counted, cpu, clock = self._counts(), self._cpu(), time.monotonic()
        requests = run()
        seconds = time.monotonic() - clock
        spent = _difference(self._cpu(), cpu)
        made = _difference(self._counts(), counted)
        ours = ("workers", "balancer", "database", "own")
        others = spent["machine"] - sum(spent[name] for name in ours)
        self._site.note_others(max(0.0, others), seconds)
        return Work(
            seconds=seconds,
            requests=requests if isinstance(requests, int) else 0,
            statements=made["statements"],
            transactions=made["transactions"],
            rows=made["rows"],
            wal_bytes=made["wal_bytes"],
            workers=spent["workers"],
            balancer=spent["balancer"],
            database=spent["database"],
        )

    def stagger(self, used: Sequence[str]) -> None:
        """Let the keys be due for a trim of their journals at different times.

        Each kind of refusal is a row of its own.
        """
        requests = [
            chat(self.front, key, b'{"n%d":1}' % row)
            for number, key in enumerate(used)
            for row in range(number % TRIM_EVERY + 1)
        ]
        statuses = spread(self.front, requests, connections=4)
        if statuses.keys() != {400}:
            raise MeasurementError(f"known keys were not known: {dict(statuses)}")
        self.wait_until_written()

    def wait_until_written(self) -> None:
        wait_until(
            lambda: not any(each["pending_rows"] for each in self._metrics()),
            "all rows are written",
            30,
        )

    def known_keys(self) -> list[int]:
        """Return how many keys the workers of each replica know, all together."""
        return [each["known_keys"] for each in self._metrics()]

    def memory(self) -> int:
        """Return the memory of a replica; what its processes share counts once."""
        return proc.memory(proc.process_tree(self._replicas[0].pid))

    def worker_memory(self) -> int:
        """Return the memory that belongs to the only worker alone."""
        return proc.private_memory(
            proc.busiest(proc.process_tree(self._replicas[0].pid))
        )

    def _metrics(self) -> list[dict[str, int]]:
        return [metrics(each.ops_url) for each in self._replicas]

    def _counts(self) -> dict[str, float]:
        [(rows, wal_bytes, transactions)] = self._site.database.rows(_COUNTS)
        return {
            "statements": sum(each["statements_total"] for each in self._metrics()),
            "transactions": int(transactions),
            "rows": int(rows),
            "wal_bytes": int(wal_bytes),
        }

    def _cpu(self) -> dict[str, float]:
        """Return the CPU time that each part of the fleet has used so far."""
        front = self._balancer
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "workers": sum(proc.exact_cpu_seconds(each.pid) for each in self._replicas),
            "balancer": proc.exact_cpu_seconds(front.pid) if front else 0.0,
            "database": proc.exact_cpu_seconds(self._site.postgres_pid),
            "own": time.process_time() + children.ru_utime + children.ru_stime,
            "machine": proc.machine_cpu_seconds(),
        }


@dataclass
class Site:
    """A database with keys, and a folder for everything else."""

    database: Database
    postgres_pid: int
    folder: Path
    certificate: Path

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._others = self._seconds = 0.0

    @property
    def others_share(self) -> float:
        """The CPU that other programs used during all measurements, in cores."""
        return self._others / self._seconds

    def note_others(self, cpu_seconds: float, seconds: float) -> None:
        self._others += cpu_seconds
        self._seconds += seconds

    @contextmanager
    def running(
        self,
        number: int,
        workers: int,
        *,
        balanced: bool = True,
        tls: bool = False,
        journal_interval: int = SETTINGS.journal_interval,
    ) -> Iterator[Running]:
        """Run a fleet on this database."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            ports = Ports.free()
            certificate = self.certificate if tls else None
            settings = {
                "READBACK_DATABASE_URL": self.database.url,
                "READBACK_WORKERS": str(workers),
                "READBACK_JOURNAL_INTERVAL": str(journal_interval),
            }
            members = stack.enter_context(
                replicas(number, settings, folder, ports, certificate)
            )
            front = None
            if balanced:
                front = stack.enter_context(
                    balancer(number, folder, ports, self.certificate)
                )
            yield Running(self, members, front)

    def new_keys(self, number: int, *, journal: bool = False) -> list[str]:
        """Add an account with keys; with `journal`, their journals are full."""
        account = self.database.add_account(f"alice-{next(self._numbers)}@example.com")
        made = [keys.mint() for _ in range(number)]
        self.database.add_keys(account, made)
        if journal:
            self.database.rows(_FULL_JOURNALS, account)
        self.database.rows("ANALYZE")
        return made

    def row_sizes(self) -> dict[str, float]:
        """Return the size of a row on disk, with its indexes, without dead rows."""
        tables = {"usage_row": "cabinet_usage", "journal_row": "cabinet_journalentry"}
        for table in tables.values():
            self.database.rows(f"VACUUM FULL {table}")
        return {
            name: float(
                self.database.value(
                    f"SELECT pg_total_relation_size('{table}')"
                    f" / greatest(1, (SELECT count(*) FROM {table}))::float"
                )
            )
            for name, table in tables.items()
        }


@contextmanager
def site() -> Iterator[Site]:
    """Run PostgreSQL on the last core, with an empty database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with proc.on_core(-1):
            postgres = stack.enter_context(start_postgres())
        database = Database(postgres.migrated_database())
        certificate = Authority(folder / "authority").issue(FRONT)
        yield Site(database, postgres.pid, folder, certificate)


def _difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in after}
