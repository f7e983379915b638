"""The pytest plugin in whole runs: one process, several, interrupted and killed."""

import signal
import subprocess
import sys
import venv
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pytest_plugin.runs import SECONDS, running
from tests.support import migrated
from tests.support.pages import block

HELPERS = """
import time
from pathlib import Path
from urllib.request import Request, urlopen

def ask(readback):
    bearer = {"Authorization": f"Bearer {readback.api_key}"}
    urlopen(Request(f"{readback.base_url}/models", headers=bearer)).close()

def wait_for(name):
    while not Path(name).exists():
        time.sleep(0.02)
"""

IN_ONE_PROCESS = """
import pytest
from helpers import Path, ask, wait_for
from openai import BadRequestError, NotFoundError, OpenAI

def test_refused(readback):
    client = OpenAI(base_url=readback.base_url, api_key=readback.api_key)
    question = [{"role": "user", "content": "a text that nobody keeps"}]
    with pytest.raises(BadRequestError):
        client.chat.completions.create(
            model=readback.model, messages=question, temperature=1
        )
    [one] = readback.expect(unknown_field=1, differences="temperature")
    assert (one.requests, one.status, one.endpoint) == (1, 400, "chat")
    readback.expect(accepted=1, program="curl", differences=[])

def test_explained(readback):
    explaining = readback.with_new_key(explain=True)
    client = OpenAI(base_url=explaining.base_url, api_key=explaining.api_key)
    with pytest.raises(BadRequestError, match="model must be vendor-"):
        client.chat.completions.create(model="another", messages=[])
    explaining.expect(invalid_model=1, differences="messages model")
    with pytest.raises(NotFoundError, match="uses the Responses API"):
        client.responses.create(model="another", input="")
    explaining.expect(invalid_model=1, not_found=1)

def test_rehearsed(readback_rehearsal):
    server = readback_rehearsal("429", "503", "ok")
    client = OpenAI(base_url=server.base_url, api_key=server.api_key)
    assert client.models.list().data  # it has retried
    server.expect(rehearsed=2, accepted=1)
    with pytest.raises(ValueError, match="1 to 20 steps"):
        readback_rehearsal("418")

def test_nothing_of_other_tests_is_seen(readback, readback_server):
    readback.expect()
    ask(readback)
    readback.expect(accepted=1)
    readback_server.expect()

def test_a_typo_is_an_error(readback):
    with pytest.raises(TypeError, match="acepted is neither accepted"):
        readback.expect(acepted=0)

def test_nothing_arrives(readback):
    readback.expect(accepted=1)

def test_waits():
    Path("waits").touch()
    wait_for("never")
"""

IN_A_WORKER = """
import os
from helpers import Path, ask, wait_for

def test_uses_the_server(readback, readback_server):
    ask(readback_server)
    ask(readback)
    readback_server.expect(accepted=1)
    readback.expect(accepted=1)
    Path(f"{__name__}.used").write_text(readback.base_url)
"""
CRASHES = """
def test_crashes():
    Path("crashed").touch()
    os._exit(1)
"""
WAITS = """
def test_waits_until_the_run_is_killed(readback):
    ask(readback)
    readback.expect(accepted=1)
    Path("waits").touch()
    wait_for("killed")
"""


@pytest.mark.long
def test_a_run_in_one_process_that_is_interrupted(tmp_path):
    data = tmp_path / "data"
    migrated.copy_to(data / "readback.sqlite3")
    declared = block("def readback_settings").partition("return")[0]
    files = {
        "conftest.py": f'{declared}return {{"READBACK_DATA_DIR": {str(data)!r}}}\n',
        "helpers.py": HELPERS,
        "test_a_example.py": block("def test_my_program_gets_its_answer"),
        "test_b_others.py": IN_ONE_PROCESS,
    }
    with running(tmp_path / "project", files, "--tb=short") as run:
        run.wait_for("waits")
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(SECONDS) == 2
        # pytest waited until its processes had ended.
        assert not run.processes()

    assert not run.left_behind()
    assert "2 failed, 5 passed" in run.output
    refused, nothing = run.output.split("AssertionError: ")[1:3]
    assert refused.startswith(
        "Readback received something else:\n"
        "E     accepted: expected 1, got 0\n"
        "E     unknown_field: expected 0, got 1\n"
        "E     program: expected curl, got openai (Python)\n"
        "E     differences: expected [], got ['temperature']\n"
        "E     What arrived with this key:\n"
        "E     ArrivedRequest(requests=1, outcome='unknown_field', status=400, "
        "endpoint='chat', program='openai (Python)', differences=('temperature',))\n"
    )
    assert "Nothing has arrived." in nothing


def test_each_worker_has_a_server_which_ends_with_a_killed_run(tmp_path):
    files = {
        "helpers.py": HELPERS,
        "test_a.py": IN_A_WORKER + CRASHES,
        "test_b.py": IN_A_WORKER,
        "test_c.py": IN_A_WORKER,
        "test_d.py": IN_A_WORKER + WAITS,
    }
    options = ("-p", "xdist", "-n", "2", "--dist", "loadscope")
    with running(tmp_path / "project", files, *options) as run:
        run.wait_for("crashed")
        run.wait_for("waits")
        used = [path.read_text() for path in run.folder.glob("*.used")]
        assert len(set(used)) >= 2

        run.process.kill()
        run.process.wait()
        (run.folder / "killed").touch()
        run.wait_until_gone()
    assert not run.left_behind()


def test_without_the_servers_packages_one_sentence_says_what_to_install(tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "readback").symlink_to(Path(find_spec("readback").origin).parent)
    ours = Path(find_spec("pytest").origin).parents[1]
    for name in ("click", "pytest", "_pytest", "pluggy", "iniconfig", "packaging"):
        (packages / name).symlink_to(ours / name)
    [pluggy] = ours.glob("pluggy-*.dist-info")
    for other in (ours / "pygments", ours / "py.py", pluggy):
        (packages / other.name).symlink_to(other)
    (tmp_path / "test_it.py").write_text("def test_it(readback): pass\n")

    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-m", "pytest", "-p", "readback.pytest_plugin"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    assert done.returncode == 1, done.stderr
    assert "Readback did not start: This command needs packages that" in done.stdout
    assert "Traceback" not in done.stdout and "During" not in done.stdout


def test_pytest_loads_the_plugin_without_anything_else():
    [plugin] = entry_points(group="pytest11", name="readback")
    code = (
        f"import pytest, sys; before = set(sys.modules); import {plugin.value};"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert loaded.split() == ["readback", "readback.pytest_plugin"]
