"""The fuzzer's command line: `python -m tests.fuzz`."""

import subprocess
import sys
from pathlib import Path

import click

from tests.fuzz.install import PYTHON, ROOT, WORKSPACE, install

FOLDER = Path(__file__).parent
FINDINGS = WORKSPACE / "findings"
# The targets, and each one's share of the time.
TARGETS = {"connection": 0.4, "chat_body": 0.2, "refusals": 0.2, "work": 0.2}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", type=float, default=10.0, show_default=True)
def main(minutes: float) -> None:
    """Look for bytes that make the API break a promise; exit with 1 if it finds any."""
    install()
    FINDINGS.mkdir(parents=True, exist_ok=True)
    before = set(FINDINGS.iterdir())
    failed = [name for name, part in TARGETS.items() if _fuzz(name, part * minutes)]
    for path in sorted(set(FINDINGS.iterdir()) - before):
        target = path.name.partition("-")[0]
        click.echo(
            f"Found {path.relative_to(ROOT)}. In tests/fuzz/corpus/{target}, "
            "tests/fuzz/test_any_bytes.py runs it without the fuzzer."
        )
    sys.exit(1 if failed else 0)


def _fuzz(target: str, minutes: float) -> bool:
    """Fuzz one target, which prints its own report; return whether it failed."""
    corpus = WORKSPACE / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    command = [
        *[str(PYTHON), "-m", "tests.fuzz.run", target],
        f"-dict={FOLDER / 'dictionary.txt'}",
        f"-artifact_prefix={FINDINGS}/{target}-",
        f"-max_total_time={max(1, round(minutes * 60))}",
        *["-max_len=2000", "-timeout=30"],
        # libFuzzer writes new inputs to the first folder.
        *[str(corpus), str(FOLDER / "corpus" / target)],
    ]
    click.echo(f"Fuzzing {target}.")
    return bool(subprocess.run(command, cwd=ROOT).returncode)


if __name__ == "__main__":
    main(prog_name="python -m tests.fuzz")
