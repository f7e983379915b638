"""Schemathesis checks that the API behaves as /openapi.yaml says.

tests/house/test_openapi.py compares that document with the contract.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import block
from tests.support.server import Server

CABINET_URL, BASE_URL = "http://127.0.0.1:8001", "http://127.0.0.1:8000/v1"


@pytest.mark.long
def test_the_command_of_the_page_finds_no_difference(server: Server, tmp_path: Path):
    (tmp_path / "schemathesis.toml").write_text(block("[generation]"), encoding="utf-8")
    command = block("schemathesis run ").replace(CABINET_URL, server.cabinet_url)
    command = command.replace(BASE_URL, server.base_url).rstrip()
    # A slow machine must not be reported as a failure.
    options = "--max-examples 10 --suppress-health-check all --no-color"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        f"{command} {options}",
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "READBACK_API_KEY": server.api_key},
        capture_output=True,
        text=True,
        timeout=280,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    for phase in ("Examples", "Coverage", "Fuzzing"):
        assert f"✅ {phase}\n" in done.stdout
    assert "Tested: 2\n" in done.stdout
