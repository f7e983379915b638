"""The command behind `make soak`, and the page that describes it."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from soak import clients

ROOT = Path(__file__).parents[2]


def assert_refused(exit_code: int, stderr: str) -> None:
    assert exit_code == 2
    assert "Invalid value for '--minutes'" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("minutes", ["abc", "0", "-1", "0.5", "100000"])
def test_an_invalid_duration_is_refused(minutes):
    # Imported here, because no other test needs it.
    from soak.__main__ import main

    done = CliRunner().invoke(main, ["--minutes", minutes])

    assert_refused(done.exit_code, done.stderr)


def test_the_command_of_the_makefile_refuses_an_invalid_duration_in_one_sentence():
    command = [sys.executable, "-m", "soak", "--minutes", "abc"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert_refused(done.returncode, done.stderr)


def test_the_page_describes_the_clients_that_there_are():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    on_long_path = sum(role.clients for role in clients.ROLES if role.distant)
    assert f"**{clients.CLIENTS} clients**" in page
    assert f"{on_long_path} over a *long path*" in page
