"""The command line of the fuzzer: `python -m tests.fuzz`."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click

from tests.fuzz.install import PYTHON, ROOT, WORKSPACE, CannotFuzz, install

FOLDER = Path(__file__).parent
FINDINGS = WORKSPACE / "findings"
# The targets, and which part of the time each gets.
TARGETS = {"connection": 0.4, "chat_body": 0.2, "refusals": 0.2, "work": 0.2}


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
    """Fuzz one target, which reports by itself; return whether it failed."""
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
    click.echo(f"Fuzzing {target}.")
    return bool(subprocess.run(command, cwd=ROOT).returncode)


if __name__ == "__main__":
    main(prog_name="python -m tests.fuzz")
