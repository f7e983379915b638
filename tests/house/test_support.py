"""Tests and tools import only what they may; a run depends on nothing around it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.files import imports_of, python_files
from tests.support.made_once import shared_folder
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
# Each has a folder of tests, and no other tests import it.
TOOLS = {"bench": {"bench"}, "clients": {"clients", "bench"}, "soak": {"soak", "bench"}}
FOLDERS = [path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))]
ALLOWED = TOOLS | {f"tests/{name}": {f"tests.{name}", name} for name in sorted(FOLDERS)}


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_folder_imports_only_itself_and_the_helpers(folder: str) -> None:
    allowed = {f"{name}." for name in ALLOWED[folder] | {"tests.support"}}
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(ROOT / folder)
        for name in imports_of(path)
        if name.split(".")[0] in {"tests", *TOOLS}
        if not f"{name}.".startswith(tuple(allowed))
    }
    assert not wrong


def of_own_run(code: str, **variables: str) -> subprocess.Popen[str]:
    """Start Python code that is a run of the tests, not a part of this one."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=kept | variables,
        stdout=subprocess.PIPE,
        text=True,
    )


SHOW = """
import json, os
from tests.support.environment import make_clean
make_clean()
print(json.dumps(dict(os.environ)))
"""
OF_A_PERSON = {
    "HOME": "/nowhere",
    "LC_ALL": "ru_RU.UTF-8",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "SSL_CERT_FILE": "/nowhere",
    "READBACK_API_BIND": "127.0.0.1:8000",
    "OPENAI_API_KEY": "sk-mine",
    "PGHOST": "database.example",
}


def test_the_environment_of_a_test_is_the_same_on_every_machine() -> None:
    def shown(**variables: str) -> dict[str, str]:
        output = of_own_run(SHOW, **variables).communicate()[0]
        environment = json.loads(output)
        assert environment.pop("READBACK_TEST_PROCESS")
        folder = environment.pop("READBACK_TEST_SHARED")
        assert environment.pop("HOME") == f"{folder}/home"
        return environment

    assert shown(**OF_A_PERSON) == shown()


SERVE = """
import os, pathlib
from tests.support.made_once import shared_folder
from tests.support.postgres import postgres
pathlib.Path(shared_folder(), "postgresql").symlink_to(os.environ["MADE"])
pathlib.Path(shared_folder(), "postgresql.done").touch()
with postgres() as server:
    print(server.pid, flush=True)
    server.freeze()
    input()
"""


@pytest.mark.usefixtures("postgresql")
def test_nothing_is_left_of_a_run_that_is_killed() -> None:
    run = of_own_run(SERVE, MADE=str(shared_folder() / "postgresql"))
    server = psutil.Process(int(run.stdout.readline()))
    processes = [server, *server.children(recursive=True)]
    folder = Path(server.cmdline()[2]).parents[1]
    assert folder.name.startswith("readback-tests-")

    run.kill()
    run.communicate()

    wait_until(lambda: not any(map(psutil.Process.is_running, processes)), "all ended")
    wait_until(lambda: not folder.exists(), "the folder is deleted")
