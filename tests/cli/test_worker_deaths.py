"""`readback serve` replaces a worker that ends, but stops if none can start."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from tests.cli.conftest import ALICE
from tests.cli.program import (
    Program,
    answers_200,
    key_in,
)
from tests.support.processes import has_ended
from tests.support.waiting import PATIENCE, wait_until

SERVERS = ["cabinet", "API"]


def change_code(program: Program, text: str) -> None:
    """Make each process of a cold start run this code before anything else."""
    folder = program.folder / "changed"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(text)
    program.settings["PYTHONPATH"] = str(folder)


def readiness(program: Program) -> httpx.Response:
    return httpx.get(f"http://{program.settings['READBACK_OPS_BIND']}/readyz")


def serves(program: Program, part: str) -> bool:
    name, path = {"cabinet": ("CABINET", "/robots.txt"), "API": ("OPS", "/readyz")}[
        part
    ]
    return answers_200(f"http://{program.settings[f'READBACK_{name}_BIND']}{path}")


@pytest.mark.parametrize("part", SERVERS)
@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGKILL, "got signal 9"), (signal.SIGTERM, "exited with code 0")],
)
def test_a_worker_that_ends_by_itself_is_replaced(
    migrated, part: str, number: signal.Signals, reason: str
):
    with migrated.serving() as service:
        workers = service.children()
        assert len(workers) == 2
        victim = workers[SERVERS.index(part)]
        os.kill(victim, number)
        wait_until(
            lambda: len(now := service.children()) == 2 and victim not in now,
            "it is replaced",
        )
        wait_until(lambda: serves(migrated, part), "the new one serves")
        assert f"A worker of the {part} (process {victim}) {reason}" in service.stderr
        assert service.stop() == 0


@pytest.mark.parametrize("part", SERVERS)
def test_a_worker_that_is_killed_before_the_service_is_ready_ends_it(
    program, part: str
):
    # Keep the API's workers from becoming ready.
    change_code(program, "import time\nfrom readback.api import server\n" + HOLD_UP)
    with program.serving(until="", cold=True) as service:
        number = SERVERS.index(part) + 1
        wait_until(lambda: len(service.children()) >= number, "it is starting")
        os.kill(service.children()[-1], signal.SIGKILL)
        assert service.process.wait(PATIENCE) == 128 + signal.SIGKILL
        assert service.stderr == f"The {part} got signal 9; stopping Readback.\n"
        assert service.stdout == ""


HOLD_UP = "server.ApiWorker.prepare = lambda self: time.sleep(1000)\n"
FAIL = """
from readback.api import server
def prepare(self):
    raise RuntimeError("out of order")
server.ApiWorker.prepare = prepare
"""


@pytest.mark.parametrize("command", [[], ["api"]], ids=["the whole service", "API"])
def test_a_worker_that_cannot_start_ends_the_service_once(migrated, command):
    change_code(migrated, FAIL)
    migrated.settings["READBACK_WORKERS"] = "4"
    with migrated.serving(*command, until="", cold=True) as service:
        children = []
        wait_until(
            lambda: children.extend(service.children()) or service.process.poll(),
            "it has ended",
        )
        assert service.process.poll() == 3
        assert service.stderr.count("RuntimeError: out of order") == 1
        assert service.stdout == ""
    assert all(map(has_ended, children))
    assert not migrated.is_listening()


def test_a_cabinet_that_can_no_longer_start_leaves_the_api_alone(with_alice):
    key = key_in(with_alice.output("key", "create", ALICE))
    models = f"http://{with_alice.settings['READBACK_API_BIND']}/v1/models"
    folder = Path(with_alice.settings["READBACK_DATA_DIR"])
    secret = folder / "secret-key"
    with with_alice.serving() as service:
        assert readiness(with_alice).json()["warnings"] == []
        os.rename(secret, kept := folder / "kept")
        secret.mkdir()
        cabinet, _ = service.children()
        os.kill(cabinet, signal.SIGKILL)

        def has_failed_again() -> bool:
            return service.stderr.count("exited with code 3; another starts") >= 3

        wait_until(has_failed_again, lambda: f"it is tried again: {service.stderr}")
        answer = readiness(with_alice)
        assert answer.status_code == 200
        warning = "no worker of the cabinet is running; see the log"
        assert answer.json()["warnings"] == [warning]
        assert answer.json()["errors"] == []
        assert answers_200(models, key)

        shutil.rmtree(secret)
        os.rename(kept, secret)
        wait_until(lambda: not readiness(with_alice).json()["warnings"], "it runs")
        assert serves(with_alice, "cabinet")
        assert service.stop() == 0


def test_a_reload_during_a_start_waits_for_its_end(program):
    with program.serving(until="") as service:
        wait_until(service.children, "the cabinet is starting")
        first = service.children()
        service.process.send_signal(signal.SIGHUP)
        service.wait_for(" key create ")
        wait_until(
            lambda: len(now := service.children()) == 2 and not {*first} & {*now},
            "the workers are replaced",
        )
        assert service.stop() == 0
        assert service.stderr == ""


def test_a_stop_at_any_moment_of_a_start_leaves_no_process(migrated):
    def starting(service) -> None:
        wait_until(service.children, "the cabinet is starting")

    def both(service) -> None:
        wait_until(lambda: len(service.children()) == 2, "the API is starting")

    moments: list[Callable] = [starting, both, both]
    for moment in moments:
        with migrated.serving(until="") as service:
            moment(service)
            family = psutil.Process(service.process.pid).children(recursive=True)
            assert service.stop() == 0
            assert "Traceback" not in service.stderr
        assert all(has_ended(process.pid) for process in family)
