"""The examples for a CI: valid for their schema, and their commands work.

No engine is needed: the service runs as a process with the command and the environment
of the example, and the commands of the job run in bash.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.cli.program import Program, run_cold
from tests.support import migrated
from tests.support.commands import free_port
from tests.support.pages import block
from tests.support.waiting import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
ADDRESS = re.compile(r"http://[\w.]+:8000/v1")


class Job(NamedTuple):
    """The content of an example, in either notation."""

    serve: list[str]
    settings: dict[str, str]
    environment: dict[str, str]
    script: str
    health: str = ""


def load(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text())


def github() -> Job:
    job = load("github-actions.yml")["jobs"]["test"]
    [service], [step] = job["services"].values(), job["steps"]
    health = re.search('--health-cmd "([^"]+)"', service["options"])
    command = service["command"].split()
    return Job(command, service["env"], job["env"], step["run"], health[1])


def gitlab() -> Job:
    job = load("gitlab-ci.yml")["test"]
    [service], [script] = job["services"], job["script"]
    variables = service["variables"]
    assert variables.pop("HEALTHCHECK_TCP_PORT") == "8000"
    assert f"//{service['alias']}:8000/" in job["variables"]["OPENAI_BASE_URL"]
    return Job(service["command"], variables, job["variables"], script)


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that was started as both examples say."""
    assert github()[:2] == gitlab()[:2]
    serve, settings = github()[:2]
    folder = tmp_path_factory.mktemp("service")
    port = free_port()
    # As in the image, but with a port that is free here.
    image = {
        "READBACK_DATA_DIR": str(folder / "data"),
        "READBACK_API_BIND": f"0.0.0.0:{port}",
    }
    migrated.provide(image)
    program = Program(folder, {**image, **settings})
    with program.serving(*serve[1:], until="key create") as service:
        yield f"http://127.0.0.1:{port}/v1"
        assert settings["READBACK_EPHEMERAL_KEY"] not in service.stdout + service.stderr


@pytest.mark.parametrize(
    ("schema", "name"),
    [("github-workflows", "github-actions.yml"), ("gitlab-ci", "gitlab-ci.yml")],
)
def test_an_example_is_valid_for_the_published_schema(schema, name):
    validate(schema, EXAMPLES / name)


def validate(schema: str, path: Path) -> None:
    check = [sys.executable, "-m", "check_jsonschema"]
    subprocess.run(
        [*check, "--builtin-schema", f"vendor.{schema}", path],
        check=True,
        timeout=PATIENCE,
    )


def test_the_lines_for_a_private_registry_work(tmp_path):
    text = (EXAMPLES / "github-actions.yml").read_text()
    used = re.sub(r"^( +)# (credentials:|  \w+: \$\{\{)", r"\1\2", text, flags=re.M)
    [service] = yaml.safe_load(used)["jobs"]["test"]["services"].values()
    assert service["credentials"].keys() == {"username", "password"}
    (tmp_path / "job.yml").write_text(used)
    validate("github-workflows", tmp_path / "job.yml")

    script = block('printf \'{"auths"')
    [(registry, login)] = json.loads(subprocess.check_output(["sh", "-c", script]))[
        "auths"
    ].items()
    assert registry == "registry.example.com"
    assert base64.b64decode(login["auth"]) == b"USER:PASSWORD"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not on PATH")
@pytest.mark.parametrize("job", [github(), gitlab()], ids=["github", "gitlab"])
def test_the_commands_of_an_example_work(base_url, tmp_path, job):
    assert job.environment["OPENAI_API_KEY"] == job.settings["READBACK_EPHEMERAL_KEY"]
    variables = {k: ADDRESS.sub(base_url, v) for k, v in job.environment.items()}
    script = ["bash", "-eo", "pipefail", "-c", job.script]
    done = run_cold(script, variables, tmp_path)
    assert done.returncode == 0, done.stderr
    # The command notices a key that is not accepted.
    wrong = variables | {"OPENAI_API_KEY": "sk-echo-wrong"}
    assert run_cold(script, wrong, tmp_path).returncode != 0


def test_the_health_check_of_an_example_works(base_url, tmp_path):
    program = Program(tmp_path, {})
    command = ADDRESS.sub(base_url, github().health).split()

    assert command[0] == "readback"
    assert program.run(*command[1:]).returncode == 0
