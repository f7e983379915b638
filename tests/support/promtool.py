"""promtool, which is part of Prometheus, checks metrics, rules and configurations."""

import subprocess

from tests.support.programs import needed_program


def run_promtool(*arguments: str, text: str = "") -> str:
    """Run promtool, which must not complain; return its stdout."""
    program = needed_program("promtool")
    done = subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout
