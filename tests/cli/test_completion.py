"""The Tab key completes commands and options in bash, as docs/cli.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import environment_with
from tests.support.waiting import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
# What bash does when somebody types the words and presses Tab.
PRESS_TAB = """
press_tab() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _readback_completion "$1"
    echo "${COMPREPLY[@]}"
}
press_tab readback se
press_tab readback key re
press_tab readback serve --e
press_tab readback key revoke ''
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_commands_and_options_and_reads_no_settings(tmp_path):
    [line] = re.findall(r"`(eval .*=bash_source readback\)\")`", PAGE.read_text())
    settings = environment_with({"READBACK_TYPO": "1", "READBACK_WORKERS": "many"})
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "--norc", "-c", line + PRESS_TAB],
        env={**settings, "PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert done.stdout == "serve\nrename revoke\n--ephemeral\n\n"
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
