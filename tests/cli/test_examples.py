"""The CI example matches its schema, and its commands work.

No container engine is needed: the service runs as a process with the command and the
environment of the example, and the commands of the job run in bash.
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
    serve: list[str]
    settings: dict[str, str]
    environment: dict[str, str]
    script: str


def load(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text())


def gitlab() -> Job:
    job = load("gitlab-ci.yml")["test"]
    [service] = job["services"]
    [script] = job["script"]
    variables = service["variables"]
    assert variables.pop("HEALTHCHECK_TCP_PORT") == "8000"
    assert f"//{service['alias']}:8000/" in job["variables"]["OPENAI_BASE_URL"]
    return Job(service["command"], variables, job["variables"], script)


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that was started as the example says."""
    serve, settings = gitlab()[:2]
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


def test_the_example_is_valid_for_the_published_schema():
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    command = [*check, "vendor.gitlab-ci", EXAMPLES / "gitlab-ci.yml"]
    subprocess.run(command, check=True, timeout=PATIENCE)


def test_the_command_for_a_private_registry_works():
    script = block('printf \'{"auths"')
    [(registry, login)] = json.loads(subprocess.check_output(["sh", "-c", script]))[
        "auths"
    ].items()
    assert registry == "registry.example.com"
    assert base64.b64decode(login["auth"]) == b"USER:PASSWORD"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not on PATH")
def test_the_commands_of_the_example_work(base_url, tmp_path):
    job = gitlab()
    assert job.environment["OPENAI_API_KEY"] == job.settings["READBACK_EPHEMERAL_KEY"]
    variables = {k: ADDRESS.sub(base_url, v) for k, v in job.environment.items()}
    script = ["bash", "-eo", "pipefail", "-c", job.script]
    done = run_cold(script, variables, tmp_path)
    assert done.returncode == 0, done.stderr
    # The commands fail if the key is not accepted.
    wrong = variables | {"OPENAI_API_KEY": "sk-echo-wrong"}
    assert run_cold(script, wrong, tmp_path).returncode != 0
