"""The command line of the fuzzer: `python -m tests.fuzz`."""

import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import click

from tests.fuzz.install import PYTHON, ROOT, WORKSPACE, CannotFuzz, install

FOLDER = Path(__file__).parent
FINDINGS = WORKSPACE / "findings"
# The targets, and which part of the time each gets.
TARGETS = {"connection": 0.4, "chat_body": 0.2, "refusals": 0.2, "work": 0.2}
REPORT_SECONDS = 10.0
STATUS = re.compile(r"#(\d+)\s.* cov: (\d+) .* exec/s: (\d+)")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Look for bytes that break a promise of the API."""


@main.command()
@click.option("--minutes", type=float, default=10.0, show_default=True)
def run(minutes: float) -> None:
    """Fuzz all targets; exit with 1 if something was found."""
    try:
        install()
    except CannotFuzz as error:
        raise click.ClickException(f"Fuzzing is not possible here: {error}") from None
    FINDINGS.mkdir(parents=True, exist_ok=True)
    before = set(FINDINGS.iterdir())
    failed = [name for name, part in TARGETS.items() if _fuzz(name, part * minutes)]
    for path in sorted(set(FINDINGS.iterdir()) - before):
        target = path.name.partition("-")[0]
        click.echo(
            f"Found {path.relative_to(ROOT)}. To see it again: "
            f"python -m tests.fuzz check {target} {path.relative_to(ROOT)}"
        )
    sys.exit(1 if failed else 0)


@main.command()
@click.argument("target", type=click.Choice(list(TARGETS)))
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def check(target: str, path: Path) -> None:
    """Run one target over one file, without the fuzzer."""
    import_module(f"tests.fuzz.{target}").check(path.read_bytes())
    click.echo("No promise is broken.")


def _fuzz(target: str, minutes: float) -> bool:
    """Fuzz one target and show how far it is; return whether it failed."""
    corpus = WORKSPACE / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    command = [
        *[str(PYTHON), "-m", "tests.fuzz.run", target],
        f"-dict={FOLDER / 'dictionary.txt'}",
        f"-artifact_prefix={FINDINGS}/{target}-",
        f"-max_total_time={max(1, round(minutes * 60))}",
        *["-max_len=2000", "-timeout=30"],
        # New inputs go to the first folder.
        *[str(corpus), str(FOLDER / "corpus" / target)],
    ]
    log = WORKSPACE / f"{target}.log"
    with (
        log.open("w", encoding="utf-8") as saved,
        subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process,
    ):
        assert process.stderr
        reported = time.monotonic()
        status = None
        for line in process.stderr:
            saved.write(line)
            status = STATUS.match(line) or status
            if status and time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                _report(target, status)
    if status:
        _report(target, status)
    if process.returncode:
        click.echo(f"{target}: failed; see {log.relative_to(ROOT)}.")
    return bool(process.returncode)


def _report(target: str, status: re.Match[str]) -> None:
    runs, covered, speed = (int(number) for number in status.groups())
    click.echo(
        f"{target}: {runs:,} inputs, {covered:,} branches covered, {speed:,} a second"
    )


if __name__ == "__main__":
    main(prog_name="python -m tests.fuzz")
