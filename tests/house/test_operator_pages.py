"""docs/settings.md and docs/cli.md match the program and are complete."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from readback.cli import main
from readback.cli.exit_codes import ExitCode
from readback.config import DATABASE_NAME, Config, variable
from readback.contract import JOURNAL_ROWS
from readback.setting_values import MIN_SECRET_KEY_LENGTH

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "docs" / "settings.md").read_text()


def test_the_settings_page_has_a_row_for_every_setting_in_their_order():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.+) \|$", SETTINGS, re.MULTILINE)

    expected = []
    for row in fields(Config):
        default = row.metadata["default"]
        is_secret = row.metadata["secret"]
        shown = f"`{default}`" if default else "empty"
        expected.append((variable(row), shown, is_secret))
    from_file = "Can be read from a file."
    found = [(name, shown, text.endswith(from_file)) for name, shown, text in rows]
    assert found == expected


def test_the_settings_page_has_the_values_of_the_program():
    rows = f"the last {JOURNAL_ROWS} accepted and the last {JOURNAL_ROWS} refused"
    assert f"Empty: `{DATABASE_NAME}` in `READBACK_DATA_DIR`." in SETTINGS
    assert f"at least {MIN_SECRET_KEY_LENGTH} characters, the same" in SETTINGS
    assert rows in SETTINGS


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

    assert f"\n| {code.value} | " in page
