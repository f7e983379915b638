"""Every command in README.md and every step of the action, as a reader runs them.

Installing packages needs a package index and takes long, so only `make long` does it.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.support import build_context, environment, pythons
from tests.support.commands import environment_with, own_ports
from tests.support.pages import ROOT, sh
from tests.support.programs import needed_program
from tests.support.server import Server, ephemeral_server
from tests.support.waiting import wait_until

INSTALL_SECONDS = 600
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)
RUN_HERE = {
    "make run",
    "docker build",
    "uv build",
    "export READBACK_API_KEY",
    "curl -i",
    "curl -fsSO",
}
API = "http://127.0.0.1:8000/v1"
CABINET = "http://127.0.0.1:8001"
WORKS = "✓ Works: every text was returned unchanged.\n"
CHAT = {
    "model": "vendor-cabinet-preview-echo",
    "messages": [{"role": "user", "content": "Hello"}],
}

pytestmark = pytest.mark.timeout(2 * INSTALL_SECONDS)


def command(beginning: str) -> str:
    assert beginning in RUN_HERE
    [block] = [block for block in BLOCKS if block.startswith(beginning)]
    return block


def test_every_command_of_the_readme_is_run_here():
    assert len(BLOCKS) == len(RUN_HERE)
    assert all(map(command, RUN_HERE))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ephemeral_server(tmp_path_factory.mktemp("server"), {}) as server:
        yield server


def at(server: Server, script: str) -> str:
    """Return a script with the addresses and the key of this server."""
    own = script.replace(API, server.base_url).replace(CABINET, server.cabinet_url)
    return own.replace("sk-echo-…", server.api_key)


def test_the_requests_of_the_readme_get_the_answers_that_it_shows(server):
    needed_program("curl")

    sent = sh(at(server, command("export READBACK_API_KEY")))
    assert '"content":"Ready to copy?"' in sent
    [shown] = re.findall(r"^```\n(HTTP.*?)^```$", README, re.M | re.S)
    lines = sh(at(server, command("curl -i"))).splitlines()
    assert {*shown.splitlines()} - {"…"} <= {*lines}


def test_the_probe_of_the_cabinet_runs_as_the_readme_says(server, tmp_path):
    needed_program("curl")
    variables = os.environ | {"READBACK_API_KEY": server.api_key}
    report = sh(at(server, command("curl -fsSO")), cwd=tmp_path, env=variables)

    assert report.startswith(WORKS)


@contextmanager
def running(
    script: str, until: re.Pattern[str], folder: Path, variables: Mapping[str, str]
) -> Iterator[list[str]]:
    """Run a script, wait for a pattern in its output, and yield the groups found."""
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {script}"],
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        text = (folder / "printed").read_text
        wait_until(lambda: until.search(text()) or process.poll() is not None, script)
        found = until.search(text())
        assert found, text()
        yield [*found.groups()]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def test_make_run_starts_the_service(tmp_path):
    make = needed_program("make")
    if not (ROOT / ".venv" / "run.stamp").exists():
        pytest.skip("needs the environment that make creates")
    script = command("make run").replace(
        "make", f"{make} --directory {ROOT} --old-file .venv/run.stamp"
    )
    data = {"READBACK_DATA_DIR": str(tmp_path / "data"), "READBACK_STOP_NOTICE": "0.1"}
    settings = environment_with({**data, **own_ports()})
    printed = re.compile(r"API +(http\S+)\n +Cabinet +(http\S+)\n")
    with running(script, printed, tmp_path, settings) as (api, cabinet):
        assert httpx.get(f"{api}/models").status_code == 401
        assert httpx.get(cabinet).status_code == 200


@pytest.fixture
def installing(tmp_path: Path) -> dict[str, str]:
    """Return an environment for installations; skip without a package index."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {**environment.before(), "PATH": path}
    download = [sys.executable, "-m", "pip", "download", "--no-deps", "certifi"]
    done = subprocess.run(download, cwd=tmp_path, env=variables, capture_output=True)
    if done.returncode:
        pytest.skip("needs a package index")
    return variables


@pytest.fixture
def clone(tmp_path: Path, installing: dict[str, str]) -> Path:
    """A folder in which the wheel was built as README.md says."""
    folder = tmp_path / "clone"
    build_context.copy_to(folder)
    build = command("uv build").splitlines()[0]
    sh(build, cwd=folder, env=installing, timeout=INSTALL_SECONDS)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_wheel_runs_with_uvx(version, server, clone, installing):
    variables = {**installing, "UV_PYTHON": str(pythons.python(version))}
    _build, _comment, serve, _comment, probe = command("uv build").splitlines()
    # Installs the wheel first, which may take longer than starting a server.
    sh(f"{serve} --help", cwd=clone, env=variables, timeout=INSTALL_SECONDS)
    printed = re.compile(
        r"(http\S+/v1)(?s:.*?)Bearer (sk-echo-\w{38})(?s:.*?)To create a key: (.+)\n"
    )
    with running(f"{serve} --show-key", printed, clone, variables) as found:
        base_url, key, create = found
        assert_accepted(base_url, key)
        # uvx puts the program on PATH only while it runs.
        assert_accepted(base_url, sh(create, env={"PATH": os.defpath}).strip())
    variables["READBACK_API_KEY"] = server.api_key
    probe = at(server, probe)
    report = sh(probe, cwd=clone, env=variables, timeout=INSTALL_SECONDS)
    assert report.startswith(WORKS)


def assert_accepted(base_url: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{base_url}/chat/completions", json=CHAT, headers=headers)
    assert answer.json()["choices"][0]["message"]["content"] == "Hello"


@pytest.mark.long
def test_the_image_serves_both_addresses(clone, installing):
    docker = needed_program("docker")
    if subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("needs a running Docker")
    build, run = command("docker build").splitlines()
    sh(build, cwd=clone, env=installing, timeout=INSTALL_SECONDS)
    with running(run, re.compile("(API) "), clone, installing):
        wait_until(lambda: httpx.get(f"{API}/models").status_code == 401, "the API")
        assert httpx.get(f"{CABINET}/docs/").status_code == 200


@pytest.mark.long
def test_the_action_starts_a_server_for_later_steps_and_ends_it(tmp_path, installing):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    start, stop = action["runs"]["steps"]
    outputs = tmp_path / "outputs"
    job = {
        **installing,
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(outputs),
        "RUNNER_TEMP": str(tmp_path),
    }

    def run(step: dict[str, str]) -> None:
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        subprocess.run(
            shell, cwd=tmp_path, env=job, timeout=INSTALL_SECONDS, check=True
        )

    for _ in range(2):  # a job may use it twice
        run(start)
    written = re.findall(r"^([\w-]+)=(.+)$", outputs.read_text(), re.M)
    names = {f"${{{{ steps.{start['id']}.outputs.{name} }}}}" for name, _ in written}
    assert names == {output["value"] for output in action["outputs"].values()}
    (_, first), (_, first_key), (_, second), (_, second_key) = written
    assert_accepted(first, first_key)
    assert_accepted(second, second_key)
    run(stop)
    for base_url in (first, second):
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{base_url}/models")
    assert not [*tmp_path.glob("readback-*")]
    run(stop)  # nothing is left to end
