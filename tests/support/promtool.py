"""Prometheus's own judgement of metrics, rules and configuration: promtool."""

import subprocess

from tests.support.programs import needed_program


def run_promtool(*arguments: str, text: str = "") -> str:
    """Run promtool and expect success without a complaint; return its stdout.

    Skip the test if there is no promtool: it is part of Prometheus, which no Python
    package contains.
    """
    program = needed_program("promtool")
    done = subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout
