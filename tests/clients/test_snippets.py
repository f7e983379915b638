"""Every code snippet in the cabinet works with a live server."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from clients import environments

from readback.cabinet.keys import examples
from tests.support import environment
from tests.support.files import imports_of
from tests.support.programs import needed_program
from tests.support.server import Server

TEXT = "Ready to copy?"
RUN_SECONDS = 120
Done = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.timeout(environments.INSTALL_SECONDS + RUN_SECONDS)


def installed(install: Callable[[], Any]) -> Any:
    """Call the function; skip the test if it cannot install something."""
    try:
        with patch.dict(os.environ, environment.before()):
            return install()
    except environments.NotInstalled as problem:
        pytest.skip(str(problem))


def written(file: str, server: Server, api_key: str, folder: Path) -> Path:
    """Write the snippet to a file, as a user does."""
    [filled] = examples.filled(server.base_url, api_key, [file])
    folder.mkdir(exist_ok=True)
    program = folder / file
    program.write_text(filled.text, encoding="utf-8")
    return program


def assert_works(
    run: Callable[[Path], Done], file: str, server: Server, folder: Path
) -> str:
    """Run the snippet with a mistyped key, and then with the right key.

    Check that it explains the first refusal, and return what it prints the second time.
    """
    mistyped = run(written(file, server, server.api_key[:-1] + "!", folder / "wrong"))
    assert "This is not a valid key: " in mistyped.stdout + mistyped.stderr
    done = run(written(file, server, server.api_key, folder))
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*words: str) -> Callable[[Path], Done]:
    """Return a function that runs a file with this program.

    A file may have the name of a library. Python's option -P keeps its folder off the
    path, so that it does not hide the library.
    """

    def run(program: Path) -> Done:
        return subprocess.run(
            [*words, str(program)],
            # LiteLLM would download its table of prices.
            env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )

    return run


def test_every_snippet_file_is_shown_on_the_page():
    files = {path.name for path in examples.FOLDER.iterdir() if path.is_file()}

    assert files == {*examples.NAMES}


def test_no_snippet_hides_a_package_if_it_is_saved_under_its_name():
    programs = list(examples.FOLDER.glob("*.py"))
    imported = chain(*map(imports_of, programs))
    packages = {name.split(".")[0] for name in imported}

    assert len(programs) == len(packages) == 4
    assert packages.isdisjoint(path.stem for path in programs)


@pytest.mark.parametrize(
    "file",
    [
        "openai_example.py",
        "requests_example.py",
        pytest.param("langchain_example.py", marks=pytest.mark.long),
    ],
)
def test_a_python_snippet_prints_the_text_it_sends(file, server, tmp_path):
    run = command(sys.executable, "-P")

    assert assert_works(run, file, server, tmp_path) == f"{TEXT}\n"


@pytest.mark.clients
def test_the_litellm_snippet_prints_the_text_it_sends(server, tmp_path):
    litellm = installed(lambda: environments.python("openai-2"))
    python = command(str(litellm))

    assert assert_works(python, "litellm_example.py", server, tmp_path) == f"{TEXT}\n"


def test_the_fetch_snippet_prints_the_text_it_sends(server, tmp_path):
    run = command(needed_program("node"))

    assert assert_works(run, "fetch.mjs", server, tmp_path) == f"{TEXT}\n"


@pytest.mark.long  # npm installs the libraries
@pytest.mark.parametrize("file", ["openai.mjs", "ai-sdk.mjs"])
def test_a_node_snippet_prints_the_text_it_sends(file, server, tmp_path):
    node = installed(environments.node)
    (tmp_path / "node_modules").symlink_to(environments.NODE_MODULES)

    assert assert_works(command(node), file, server, tmp_path) == f"{TEXT}\n"


def test_the_curl_snippet_prints_an_answer_with_the_text(server, tmp_path):
    needed_program("curl")

    printed = assert_works(command("sh"), "curl.sh", server, tmp_path)

    assert f'"content":"{TEXT}"' in printed
