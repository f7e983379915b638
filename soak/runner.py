"""Run a soak: start the service and its clients, break things, read the counts.

Everything is done as an operator would do it, with signals and the ops listener. What
happens is recorded in a `Scene`; nothing is judged here.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from bench import proc
from bench.errors import MeasurementError
from bench.paths import ROOT
from bench.progress import ProgressBar
from tests.support.api import MARKER
from tests.support.database import Database
from tests.support.metrics import metrics, requests_by_outcome
from tests.support.processes import api_workers
from tests.support.server import LASTING, Server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

from readback import keys
from soak import clients, counts, records, schedule
from soak.databases import FaultyDatabase, database
from soak.records import (
    RECOVERY_SECONDS,
    Checkpoint,
    Kill,
    Outage,
    Reload,
    Sample,
    Scene,
    Seen,
)
from soak.schedule import Step

WORKERS = 2
SETTINGS = {
    **LASTING,
    "READBACK_WORKERS": str(WORKERS),
    "READBACK_JOURNAL_INTERVAL": str(counts.JOURNAL_INTERVAL),
}
# The counts are final when they have not changed for this long.
_SETTLED_SECONDS = counts.JOURNAL_INTERVAL + 1.2
_SETTLING_SECONDS = 20.0
_ANY_KEY = re.compile(rb"sk-echo-[0-9A-Za-z]{8}")
_OWN_ERRORS = re.compile(
    "Traceback|internal error|error in the database thread|stopped before the usage"
)


def run(name: str, seconds: float, progress: ProgressBar) -> tuple[Seen, Scene]:
    """Run a soak on one kind of database; after Ctrl-C return what there is so far."""
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        folder = Path(place)
        for each in ("server", "clients"):
            (folder / each).mkdir()
        progress.describe(f"starting Readback on {name}")
        with database(name, folder) as store:
            scene = _run_service(store, folder, seconds, progress)
            log = (folder / "server" / "stderr").read_text(errors="replace")
            if found := _OWN_ERRORS.search(log):
                scene.exit_error = scene.exit_error or f"{found[0]} in the log"
            _search_everything(scene, store, folder / "server")
        return records.read(folder / "clients"), scene


def _run_service(
    store: FaultyDatabase, folder: Path, seconds: float, progress: ProgressBar
) -> Scene:
    scene: Scene | None = None
    settings = {**SETTINGS, "READBACK_DATABASE_URL": store.url}
    try:
        with ephemeral_server(folder / "server", settings, cold=True) as server:
            soak_run = SoakRun(server, store, folder / "clients", progress)
            soak_run.play(seconds)
            scene = soak_run.scene
    except AssertionError as error:
        if scene is None:
            raise MeasurementError(f"Readback does not run: {error}") from None
        scene.exit_error = str(error)
    return scene


class SoakRun:
    """One run of the schedule on a running service."""

    def __init__(
        self,
        server: Server,
        store: FaultyDatabase,
        folder: Path,
        progress: ProgressBar,
    ) -> None:
        self._server = server
        self._store = store
        self._folder = folder
        self._progress = progress
        self._database = Database(store.url)
        self._keys = [keys.mint() for _ in range(clients.KEYS)]
        digests = [keys.digest(key.encode()) for key in self._keys]
        self._numbers = {digest: number for number, digest in enumerate(digests)}
        account = self._database.add_account("alice@example.com")
        self._database.add_keys(account, self._keys)
        wait_until(lambda: len(api_workers(server)) == WORKERS, "all workers run", 30)
        self._before_reload: set[int] = set()
        self._errors_before = 0
        self._seconds_shown = 0
        now = time.monotonic()
        self.scene = Scene(started=now, wall_offset=time.time() - now)

    def play(self, seconds: float) -> None:
        """Run the clients and the schedule, then read all counts."""
        scene = self.scene
        self._progress.add_steps(round(seconds))
        orders = {
            "port": Endpoint.of(self._server.base_url).port,
            "folder": str(self._folder),
            "keys": self._keys,
            "marker": MARKER,
            "seed": random.getrandbits(32),
        }
        with _clients(orders) as crowd:
            scene.started = time.monotonic()
            try:
                self._follow(schedule.steps(seconds), seconds, crowd)
            except KeyboardInterrupt:
                scene.interrupted = True
                self._progress.print("Stopped; judging what there is so far.")
            finally:
                self._come_back()
            scene.ended = time.monotonic()
            self._progress.describe("waiting for the last answers")
        self._progress.describe("comparing the counts")
        self._read_counts()
        _search(scene, "the metrics", _metrics_page(self._server.ops_url))

    def _follow(
        self, steps: list[Step], seconds: float, crowd: "ClientProcess"
    ) -> None:
        """Run each step at its time, and take a sample every second."""
        scene = self.scene
        next_sample = 1.0
        while (now := time.monotonic() - scene.started) < seconds:
            if steps and steps[0].at <= now:
                # A step may be late: a database, for example, takes seconds to start.
                # All later steps are delayed as much, so that no outage gets shorter.
                late = now - steps[0].at
                step, *steps = [each._replace(at=each.at + late) for each in steps]
                self._do(step, crowd)
                scene.calm_since = time.monotonic()
            elif next_sample <= now:
                next_sample = now + 1.0
                self._sample(crowd)
            else:
                time.sleep(0.02)
            crowd.check()

    def _do(self, step: Step, crowd: "ClientProcess") -> None:
        match step.what:
            case schedule.RELOAD:
                self._reload()
            case schedule.KILL:
                self._kill()
            case schedule.GO:
                self._go(self._store.kinds[step.kind])
            case schedule.COME_BACK:
                self._come_back()
            case schedule.COMPARE:
                with crowd.paused():
                    self._read_counts()

    def _reload(self) -> None:
        self._before_reload = {worker.pid for worker in api_workers(self._server)}
        self.scene.reloads.append(Reload(time.monotonic()))
        os.kill(self._server.pid, signal.SIGHUP)

    def _kill(self) -> None:
        """Kill one of the newest workers, and record the connections that it has.

        It is suspended first, so that its connections do not change while they are
        read.
        """
        workers = api_workers(self._server)
        newest = sorted(workers, key=psutil.Process.create_time)[-WORKERS:]
        victim = random.choice(newest)
        port = Endpoint.of(self._server.base_url).port
        victim.suspend()
        wait_until(lambda: victim.status() == psutil.STATUS_STOPPED, "it is suspended")
        ports = [
            each.raddr.port
            for each in victim.net_connections("tcp")
            if each.raddr and each.laddr.port == port
        ]
        self.scene.kills.append(Kill(time.monotonic(), ports))
        victim.kill()
        self._say(f"killed a worker with {len(ports)} connections")

    def _go(self, kind: str) -> None:
        self._errors_before = self._database_errors()
        self.scene.outages.append(Outage(kind, time.monotonic()))
        self._store.go(kind)

    def _come_back(self) -> None:
        outages = self.scene.outages
        if not outages or outages[-1].end:
            return
        self._store.come_back()
        outage = outages[-1]
        outage.end = time.monotonic()
        outage.noticed = self._database_errors() > self._errors_before
        self._say(
            f"the database was {outage.kind} for {outage.end - outage.start:.1f} s"
        )

    def _database_errors(self) -> int:
        """Return how many errors there were; retry, because a worker may be ending."""
        for _ in range(5):
            with suppress(OSError):
                return metrics(self._server.ops_url)["database_errors_total"]
        raise MeasurementError("the ops listener does not answer")

    def _sample(self, crowd: "ClientProcess") -> None:
        scene = self.scene
        pids = {worker.pid for worker in api_workers(self._server)}
        memory = {pid: size for pid in pids if (size := proc.private_memory(pid))}
        manager = proc.private_memory(self._server.pid)
        now = time.monotonic()
        scene.samples.append(Sample(now, crowd.answered, memory, manager))
        if scene.reloads and not pids & self._before_reload and len(pids) >= WORKERS:
            scene.reloads[-1].replaced = True
        outage = scene.outages[-1] if scene.outages else None
        if outage and not outage.noticed and now < outage.end + RECOVERY_SECONDS:
            outage.noticed = self._database_errors() > self._errors_before
        self._progress.describe(
            f"{crowd.answered:,} answered, {crowd.wrong} wrong, {crowd.lost} lost, "
            f"{len(scene.reloads)} reloads, {len(scene.kills)} kills"
        )
        for _ in range(int(now - scene.started) - self._seconds_shown):
            self._progress.finish_step()
            self._seconds_shown += 1

    def _say(self, what: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.scene.started), 60)
        self._progress.print(f"{minutes:3}:{seconds:02}  {what}")

    def _read_counts(self) -> None:
        """Read what the service has counted, once the counts no longer change."""
        at = time.monotonic()
        last = self._checkpoint(at)
        since = at
        while time.monotonic() < min(at + _SETTLING_SECONDS, since + _SETTLED_SECONDS):
            time.sleep(0.2)
            now = self._checkpoint(at)
            if now != last:
                last = now
                since = time.monotonic()
        self.scene.checkpoints.append(last)

    def _checkpoint(self, at: float) -> Checkpoint:
        ops_url = self._server.ops_url
        requests = {
            (endpoint, "" if code == "ok" else code): count
            for (endpoint, code), count in requests_by_outcome(ops_url).items()
        }
        connections = metrics(ops_url)["connections_total"]
        return Checkpoint(at, requests, self._usage(), connections)

    def _usage(self) -> dict[tuple[int, str, str], int]:
        rows = self._database.rows(
            "SELECT k.digest, u.endpoint, u.code, sum(u.requests) FROM cabinet_usage u"
            " JOIN cabinet_key k ON k.id = u.key_id"
            " GROUP BY k.digest, u.endpoint, u.code"
        )
        return {
            (self._numbers[bytes(digest)], endpoint, code): int(count)
            for digest, endpoint, code, count in rows
        }


class ClientProcess:
    """The clients, in a process of their own that Ctrl-C does not reach."""

    def __init__(self, orders: dict[str, object]) -> None:
        self.answered = self.lost = self.wrong = 0
        self._under_way = 0
        self._reports = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.clients"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._send(json.dumps(orders))
        self._reader = threading.Thread(target=self._read_figures)
        self._reader.start()

    def check(self) -> None:
        if self._process.poll() is not None:
            raise MeasurementError("the clients have ended early")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the clients; wait until no request is under way."""
        self._send("pause")
        # The next report may have been made before the pause, but not the one after it.
        known = self._reports
        deadline = time.monotonic() + 2 * records.PATIENCE
        while self._reports < known + 2 or self._under_way:
            self.check()
            if time.monotonic() > deadline:
                raise MeasurementError("the clients do not pause")
            time.sleep(0.02)
        try:
            yield
        finally:
            self._send("resume")

    def _send(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def stop(self) -> int:
        """Ask the clients to end after their current answers; return the exit code."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(records.PATIENCE + 30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._reader.join()

    def _read_figures(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                figures = json.loads(line)
                self.answered, self.lost, self.wrong, self._under_way = figures
                self._reports += 1


@contextmanager
def _clients(orders: dict[str, object]) -> Iterator[ClientProcess]:
    process = ClientProcess(orders)
    try:
        yield process
    finally:
        code = process.stop()
    if code:
        raise MeasurementError(f"the clients have failed with exit code {code}")


def _search_everything(scene: Scene, store: FaultyDatabase, folder: Path) -> None:
    """Search everything that the service has written for texts and keys."""
    for path in folder.rglob("*"):
        if path.is_file():
            # The service itself prints the key of its own account when it is ready.
            with_keys = path.name != "stdout"
            _search(scene, path.name, path.read_bytes(), with_keys)
    _search(scene, "the database or its log", store.contents())


def _search(scene: Scene, place: str, data: bytes, with_keys: bool = True) -> None:
    scene.searched_bytes += len(data)
    if MARKER.encode() in data:
        scene.leaks.append(f"a text in {place}")
    if with_keys and _ANY_KEY.search(data):
        scene.leaks.append(f"a key in {place}")


def _metrics_page(ops_url: str) -> bytes:
    with urllib.request.urlopen(f"{ops_url}/metrics", timeout=10) as answer:
        page: bytes = answer.read()
        return page
