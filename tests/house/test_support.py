"""What tests and tools may import, and the environment of a test run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]
# Each tool has a folder of tests; no other tests import it.
TOOLS = {"bench": {"bench"}, "clients": {"clients", "bench"}, "soak": {"soak", "bench"}}
FOLDERS = [path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))]
ALLOWED = TOOLS | {f"tests/{name}": {f"tests.{name}", name} for name in sorted(FOLDERS)}
# The fuzzer looks for more worst cases.
ALLOWED["tests/fuzz"] |= {"tests.worst_cases"}


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
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}

    def shown(**variables: str) -> dict[str, str]:
        """Return the environment of a separate test run."""
        output = subprocess.check_output(
            [sys.executable, "-c", SHOW], cwd=ROOT, env=kept | variables
        )
        environment = json.loads(output)
        assert environment.pop("READBACK_TEST_PROCESS")
        folder = environment.pop("READBACK_TEST_SHARED")
        assert environment.pop("HOME") == f"{folder}/home"
        return environment

    assert shown(**OF_A_PERSON) == shown()
