"""docs/settings.md and docs/cli.md say what the program does, and leave out nothing."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from readback.cli import main
from readback.cli.exits import Exit
from readback.probe.results import FailureFamily

ROOT = Path(__file__).parents[2]


def test_the_page_of_settings_is_the_table_of_settings():
    script = [sys.executable, str(ROOT / "scripts" / "settings-page")]
    expected = subprocess.check_output(script, text=True)

    assert (ROOT / "docs" / "settings.md").read_text() == expected


def words(command: click.Command, path: str):
    """Every command and option that somebody can type."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "help":
            yield parameter.opts[-1]
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            if not isinstance(inner, click.Group):
                yield f"{path} {name}"
            yield from words(inner, f"{path} {name}")


@pytest.mark.parametrize("word", sorted(set(words(main, "readback"))))
def test_the_page_of_the_command_line_names_every_command_and_option(word):
    assert word in (ROOT / "docs" / "cli.md").read_text()


PROBE_CODES = [family for family in FailureFamily if family is not FailureFamily.NONE]


@pytest.mark.parametrize("code", [*Exit, *PROBE_CODES])
def test_the_page_of_the_command_line_names_every_exit_code(code):
    page = (ROOT / "docs" / "cli.md").read_text()

    assert f"| {code.value} | {code.sentence} |" in page
