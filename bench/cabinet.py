"""How many pages the cabinet serves, and how fast, while accounts wait.

A cabinet runs on the first core; it has two workers, because 1,000 browsers keep more
connections open than a worker has. One visitor on the last core loads a page again and
again over one connection, while one account or 1,000 accounts wait for the first
request with their new keys (see `waiting.py`). Before that, nobody visits, so that the
CPU time of the polls is known and not counted for the pages. The pages alternate, round
after round, and the medians are reported.
"""

import http.client
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.commands import run_readback
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

from bench import proc, render, results
from bench.errors import MeasurementError
from bench.progress import ProgressBar
from bench.single_worker import POSTGRESQL, start_postgres
from bench.waiting import Account, WaitingAccounts, waiting

# The part of a result during which nobody visits.
NOBODY = "nobody"
# The pages' share of the CPU time from which on pages per CPU-second are shown.
LEAST_SHARE = 0.2
# Run by the cabinet's own code, which alone can sign sessions.
_FILL = """
import json
from datetime import timedelta
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.utils import timezone
from readback.cabinet.accounts.services import account_create
from readback.cabinet.keys.services import key_create
from readback.cabinet.models import JournalEntry, Usage
from readback.contract import JOURNAL_ROWS

def session_of(account):
    session = SessionStore()
    session[SESSION_KEY] = str(account.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = account.get_session_auth_hash()
    session.create()
    return session.session_key

def add_account(number):
    email = f"alice-{number}@example.com"
    account = account_create(email, confirmed=True)
    key = key_create(account, "laptop").key
    return account, {"session": session_of(account), "key": key.pk}

with transaction.atomic():
    accounts, waiting = zip(*map(add_account, range(NUMBER)))
    used = key_create(accounts[0], "server").key
    now = timezone.now()
    for number in range(2 * JOURNAL_ROWS):
        refused = {"code": "unknown_field", "detail": "Field top_p is not accepted.",
                   "differences": "top_p", "status": 400} if number % 2 else {}
        JournalEntry.objects.create(**{"status": 200, **refused}, key=used,
            accepted=not refused, at=now - timedelta(seconds=number), endpoint="chat",
            user_agent=f"OpenAI/Python 1.{number % 5}", request_bytes=98,
            answer_bytes=300)
    hour = now.replace(minute=0, second=0, microsecond=0)
    for number in range(30 * 24):
        Usage.objects.create(key=used, hour=hour - timedelta(hours=number),
            endpoint="chat", requests=10)
print(json.dumps({"waiting": waiting, "used": used.pk}))
"""

CabinetResults = dict[str, list[dict[str, Any]]]
"""The rounds by database."""


@dataclass(frozen=True)
class CabinetPlan:
    accounts: tuple[int, ...]
    """How many accounts wait."""
    seconds: float
    rounds: int


FULL = CabinetPlan(accounts=(1, 1_000), seconds=4.0, rounds=3)
# Shows that the measurement works; its figures mean nothing.
QUICK = CabinetPlan(accounts=(1, 20), seconds=1.5, rounds=1)


def measure(
    database: str, plan: CabinetPlan, published: bool, progress: ProgressBar
) -> CabinetResults:
    """Measure with one kind of database; return the results of both kinds."""
    progress.add_steps(1 + plan.rounds * len(plan.accounts))
    progress.describe(f"starting the cabinet on {database}")
    rows = []
    with _site(database, max(plan.accounts)) as site:
        progress.finish_step()
        for number in range(1, plan.rounds + 1):
            for accounts in plan.accounts:
                progress.describe(f"round {number}: {accounts:,} accounts wait")
                row = site.measure(accounts, plan.seconds)
                rows.append(row)
                progress.finish_step(f"round {number}  {_line(row)}")
    found: CabinetResults = results.read("cabinet", published) | {database: rows}
    results.write("cabinet", found, published)
    return found


def write_section() -> None:
    """Write the tables of docs/performance-loads.md."""
    found: CabinetResults = results.read("cabinet")
    text = table(found) if found else render.NO_RESULTS
    render.replace_section(render.LOADS_PAGE, "cabinet", text)


def table(found: CabinetResults) -> str:
    return f"{_page_table(found)}\n\n{_waiting_table(found)}"


class Visitor:
    """One browser, which keeps its connection open."""

    def __init__(self, endpoint: Endpoint, session: str = "") -> None:
        self._connection = http.client.HTTPConnection(endpoint.host, endpoint.port)
        self._headers = {"Cookie": f"session={session}"} if session else {}
        self._version = ""

    def load(self, path: str) -> None:
        """Load a page, or a live part with its new version."""
        try:
            response = self._get(path)
        except http.client.RemoteDisconnected:  # closed meanwhile: a browser asks again
            self._connection.close()
            response = self._get(path)
        if response.status not in (200, 204):
            raise MeasurementError(f"{path} was answered {response.status}")
        self._version = response.headers.get("X-Version", self._version)

    def poll(self, path: str) -> None:
        """Ask for a live part as a page does that has its newest version."""
        self.load(f"{path}?seen={self._version}")

    def _get(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        response.read()
        return response


@dataclass(frozen=True)
class Site:
    """A cabinet with accounts; the first of them visits, the others wait."""

    server: CabinetServer
    accounts: Sequence[Account]
    used_key: int

    def measure(self, accounts: int, seconds: float) -> dict[str, Any]:
        """Measure all pages while some accounts wait."""
        port = Endpoint.of(self.server.url).port
        with (
            waiting(port, self.accounts[1 : accounts + 1]) as waiters,
            proc.on_core(-1),
        ):
            _wait_for_two_polls(waiters, accounts)
            alone = self._watch(waiters, lambda: time.sleep(seconds))
            alone["cpu_per_poll"] = alone["cpu_seconds"] / max(1, alone["polls"])
            pages = {
                name: self._page(load, waiters, seconds)
                for name, load in self._pages().items()
            }
        return {"accounts": accounts, NOBODY: alone, "pages": pages}

    def _pages(self) -> dict[str, Callable[[], None]]:
        """Return what loads each page once."""
        endpoint = Endpoint.of(self.server.url)
        guest, owner = Visitor(endpoint), Visitor(endpoint, self.accounts[0].session)
        part = self.accounts[0].path
        return {
            "landing page, logged out": partial(guest.load, "/"),
            "list of keys": partial(owner.load, "/keys/"),
            "a key with 200 journal rows": partial(
                owner.load, f"/keys/{self.used_key}/"
            ),
            "live part, first time": partial(owner.load, part),
            "live part, nothing new": partial(owner.poll, part),
        }

    def _page(
        self, load: Callable[[], None], waiters: WaitingAccounts, seconds: float
    ) -> dict[str, Any]:
        load()  # may write the session
        latencies: list[float] = []
        watched = self._watch(waiters, lambda: latencies.extend(_repeat(load, seconds)))
        cuts = quantiles(latencies, n=100)
        return {
            **watched,
            "pages": len(latencies),
            "page_p50": 1e6 * cuts[49],
            "page_p99": 1e6 * cuts[98],
        }

    def _watch(
        self, waiters: WaitingAccounts, run: Callable[[], object]
    ) -> dict[str, Any]:
        """Return the cabinet's CPU time and the polls while something runs."""
        waiters.report()
        before = proc.exact_cpu_seconds(self.server.pid)
        run()
        cpu = proc.exact_cpu_seconds(self.server.pid) - before
        return {**waiters.report(), "cpu_seconds": cpu}


@contextmanager
def _site(database: str, accounts: int) -> Iterator[Site]:
    """Run a cabinet with one account more than are to wait."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"READBACK_CABINET_WORKERS": "2"}
        if database == POSTGRESQL:
            with proc.on_core(-1):
                postgres = stack.enter_context(start_postgres())
            settings["READBACK_DATABASE_URL"] = postgres.migrated_database()
        with proc.on_core(0):
            server = stack.enter_context(cabinet_server(folder, settings, cold=True))
        fill = _FILL.replace("NUMBER", str(accounts + 1))
        made = run_readback(
            server.environment, *("manage", "shell", "--verbosity", "0"), "-c", fill
        )
        rows = json.loads(made.stdout)
        found = [
            Account(each["session"], f"/keys/{each['key']}/arrived/")
            for each in rows["waiting"]
        ]
        yield Site(server, found, rows["used"])


def _wait_for_two_polls(waiters: WaitingAccounts, accounts: int) -> None:
    """Wait until about all accounts have asked twice: the first time is expensive."""
    polls = [0]

    def have_asked() -> bool:
        polls.append(waiters.report()["polls"])
        return sum(polls) >= 2 * accounts

    wait_until(have_asked, "the accounts have asked twice", 120)


def _repeat(load: Callable[[], None], seconds: float) -> Iterator[float]:
    """Load a page until the time is up, twice at least; yield the latencies."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end or number < 2:
        sent = time.perf_counter()
        load()
        number += 1
        yield time.perf_counter() - sent


def _page_table(found: CabinetResults) -> str:
    heads = ["page", "database", "accounts waiting", "pages per CPU-second"]
    heads += ["p50", "p99", "cores used"]
    rows = [
        [name, database, f"{accounts:,}", *_page_cells(rounds, name)]
        for database, rows in found.items()
        for name in rows[0]["pages"]
        for accounts, rounds in _by_accounts(rows).items()
    ]
    return render.table(heads, rows)


def _page_cells(rounds: list[dict[str, Any]], name: str) -> list[str]:
    def of(figure: str) -> float:
        return float(median(each["pages"][name][figure] for each in rounds))

    polls = of("polls") * median(each[NOBODY]["cpu_per_poll"] for each in rounds)
    cpu = of("cpu_seconds") - polls
    # Beside very many polls, what is left for the pages is mostly noise.
    is_known = cpu > LEAST_SHARE * of("cpu_seconds")
    return [
        render.rounded(of("pages") / cpu) if is_known else "–",
        render.milliseconds(of("page_p50")),
        render.milliseconds(of("page_p99")),
        f"{of('cpu_seconds') / of('seconds'):.2f}",
    ]


def _waiting_table(found: CabinetResults) -> str:
    heads = ["database", "accounts waiting", "polls per second", "late polls"]
    heads += ["p50", "p99", "CPU time of a poll", "cores used"]
    rows = [
        [database, f"{accounts:,}", *_waiting_cells(rounds)]
        for database, rows in found.items()
        for accounts, rounds in _by_accounts(rows).items()
    ]
    return render.table(heads, rows)


def _waiting_cells(rounds: list[dict[str, Any]]) -> list[str]:
    def of(figure: str) -> float:
        return float(median(each[NOBODY][figure] for each in rounds))

    return [
        f"{of('polls') / of('seconds'):,.0f}",
        f"{100 * of('late') / of('polls'):.1f} %",
        render.milliseconds(of("p50")),
        render.milliseconds(of("p99")),
        render.milliseconds(1e6 * of("cpu_per_poll")),
        f"{of('cpu_seconds') / of('seconds'):.2f}",
    ]


def _by_accounts(rows: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["accounts"], []).append(row)
    return found


def _line(row: dict[str, Any]) -> str:
    alone, pages = row[NOBODY], row["pages"].values()
    slowest = max(page["page_p99"] for page in pages)
    return (
        f"{row['accounts']:>5,} accounts: {alone['polls'] / alone['seconds']:>5,.0f} "
        f"polls/s, {alone['late']} late, {alone['lost']} lost, p99 "
        f"{alone['p99'] / 1000:.1f} ms; highest p99 of a page {slowest / 1000:.0f} ms"
    )
