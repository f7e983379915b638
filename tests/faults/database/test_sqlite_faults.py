"""The embedded database cannot be written: requests go on, and operators are told."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.database.conftest import Site, Start
from tests.support.metrics import metrics, readiness
from tests.support.processes import worker_pids
from tests.support.waiting import wait_until


@pytest.fixture
def site(start: Start, tmp_path: Path) -> Site:
    return start(f"sqlite:///{tmp_path}/readback.sqlite3")


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Be another program that writes and does not come to an end."""
    with site.database.connected() as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        yield
        somebody.execute("ROLLBACK")


@contextmanager
def disk_full(site: Site) -> Iterator[None]:
    """Let no file of the workers grow beyond the size of the log, for a while."""
    for worker in worker_pids(site.server):
        limit = (4096, resource.RLIM_INFINITY)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, limit)
    yield
    for worker in worker_pids(site.server):
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, unlimited)


@contextmanager
def read_only(site: Site) -> Iterator[None]:
    """Make the file read-only, and let new workers find it so."""
    path = site.database.url.removeprefix("sqlite:///")
    if os.geteuid() == 0:  # whom permissions do not stop
        mount(site, "--bind", path, path)
        mount(site, "-o", "remount,bind,ro", path)
    else:
        os.chmod(path, 0o444)
    reload(site)
    yield
    if os.geteuid() == 0:
        subprocess.run(["umount", "--lazy", path], check=True)
    else:
        os.chmod(path, 0o644)


def mount(site: Site, *arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True)
    if done.returncode:
        pytest.skip("as root, this needs the right to mount")


def reload(site: Site) -> None:
    before = worker_pids(site.server)
    os.kill(site.server.pid, signal.SIGHUP)
    wait_until(
        lambda: (now := worker_pids(site.server)) and not now & before,
        "other workers serve",
    )


FAULTS = {
    locked: "another program has locked the database",
    disk_full: "the disk",
    read_only: "the database file is read-only",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_requests_go_on_and_operators_are_told_why_nothing_is_written(site, fault):
    ops, key = site.server.ops_url, site.unmet.pop()
    assert site.ask(key).status == 200
    with fault(site):
        assert site.ask(key).status == 200
        assert site.ask(site.unmet.pop()).status == 200  # keys can still be read
        wait_until(lambda: metrics(ops)["database_writable"] == 0, "the metric says it")
        status, errors = readiness(ops)
        assert status == 200 and FAULTS[fault] in " ".join(errors)
        wait_until(lambda: FAULTS[fault] in site.log, "the log says it")
        for _ in range(3):
            assert site.ask(key).status == 200

    if fault is read_only:
        # An open file stays what it was when it was opened.
        reload(site)
    wait_until(lambda: readiness(ops) == (200, []), "nothing is wrong any more")
    wait_until(
        lambda: site.database.usage(key) == {("models", ""): 5}, "all are counted"
    )
    assert metrics(ops)["journal_dropped_total"] == 0


def test_thirty_seconds_behind_another_writer_lose_nothing(site):
    known, asked = site.unmet.pop(), 0
    assert site.ask(known).status == 200
    with locked(site):
        locked_until = time.monotonic() + 30
        while time.monotonic() < locked_until:
            began = time.monotonic()
            answer = site.ask(known)
            assert answer.status == 200 and time.monotonic() - began < 1
            asked += 1
            time.sleep(0.05)
        assert site.ask(site.unmet.pop()).status == 200
        assert metrics(site.server.ops_url)["database_writable"] == 0
    wait_until(
        lambda: site.database.usage(known) == {("models", ""): asked + 1},
        "all are counted",
    )
    assert metrics(site.server.ops_url)["journal_dropped_total"] == 0
