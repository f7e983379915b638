"""docs/settings.md and docs/cli.md match the program and are complete."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from readback.cli import main
from readback.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]


def test_the_settings_page_is_up_to_date():
    script = [sys.executable, str(ROOT / "scripts" / "settings-page")]
    expected = subprocess.check_output(script, text=True)

    assert (ROOT / "docs" / "settings.md").read_text() == expected


def words(command: click.Command, path: str):
    """Yield every command and every option."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "help":
            yield parameter.opts[-1]
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            if not isinstance(inner, click.Group):
                yield f"{path} {name}"
            yield from words(inner, f"{path} {name}")


@pytest.mark.parametrize("word", sorted({*words(main, "readback")} - {"--help"}))
def test_the_command_line_page_has_every_command_and_option(word):
    assert word in (ROOT / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("code", ExitCode)
def test_the_command_line_page_has_every_exit_code(code):
    page = (ROOT / "docs" / "cli.md").read_text()

    assert f"| {code.value} | {code.sentence} |" in page
