"""The pages for operators and the files in deploy/ match the program."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from readback.cli import main
from readback.cli.exit_codes import ExitCode
from readback.config import DATABASE_NAME, Config, variable
from readback.contract import JOURNAL_ROWS
from readback.processes import metrics
from readback.setting_values import MIN_SECRET_KEY_LENGTH

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
COMMANDS = (ROOT / "docs" / "cli.md").read_text()
MONITORING = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
DEPLOYED = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file())
_LEVELS = {"warning", "error", "critical", "exception"}
# Operators also see the messages in these calls.
_COMPLAINTS = ("DependencyStatus", "Warning")


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
    """Yield all commands and options."""
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
    assert word in COMMANDS


@pytest.mark.parametrize("code", ExitCode)
def test_the_command_line_page_has_every_exit_code(code):
    assert f"\n| {code.value} | " in COMMANDS


def test_the_tables_of_metrics_match_the_program():
    tables = (metrics.COMMON, metrics.API, metrics.CABINET)
    found = re.findall(r"^\| `readback_(\w+)` \| (.*) \|$", MONITORING, re.MULTILINE)
    assert found == [row for table in tables for row in table.items()]


@pytest.mark.parametrize("path", DEPLOYED, ids=lambda path: path.name)
def test_every_setting_in_deploy_exists(path):
    known = {variable(row) for row in fields(Config)}
    known |= {
        f"{variable(row)}_FILE" for row in fields(Config) if row.metadata["secret"]
    }
    named = set(re.findall(r"READBACK_[A-Z_]+[A-Z]", path.read_text()))
    assert named <= known


def messages(path: Path) -> Iterator[str]:
    """Yield the messages that a module logs or reports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        is_log = re.fullmatch(r"(self\.)?_?log\.(\w+)", name)
        if (is_log and is_log[2] in _LEVELS) or name in _COMPLAINTS:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if texts:
                yield str(texts[-1] if name == "DependencyStatus" else texts[0])


def test_every_message_is_on_the_page():
    # The probe logs nothing.
    modules = set(PACKAGE.rglob("*.py")) - set((PACKAGE / "probe").rglob("*.py"))
    found = {text for path in modules for text in messages(path)}
    fixed = {re.split(r"%\w|, so ", text)[0].rstrip(" :") for text in found}
    fixed -= {"", "%s"}

    assert len(fixed) >= 15
    assert {text for text in fixed if text not in MONITORING} == set()


def test_the_sentences_of_a_start_are_those_of_the_code():
    rows = re.findall(
        r"^\| `.*", MONITORING.partition("\n### Starts and stops")[2], re.M
    )
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    sentences = [text for row in rows for text in re.findall("`(.+?)`", row)]
    assert len(sentences) >= 4
    for sentence in sentences:
        parts = re.split("…|signal 9", sentence)
        assert [part for part in parts if part.strip(" ;.") not in code] == []
