"""Prometheus' own judgement of metrics, rules and configuration: promtool."""

import os
import shutil
import subprocess

import pytest


def run_promtool(*arguments: str, text: str = "") -> str:
    """Run promtool and expect success without a complaint; return its stdout.

    Skip the test if there is no promtool: it is part of Prometheus, which no Python
    package contains.
    """
    program = shutil.which("promtool", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        pytest.skip("needs the program promtool, which is part of Prometheus")
    done = subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout
