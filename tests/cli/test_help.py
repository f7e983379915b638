"""Every command has help, even where only the probe's packages are installed."""

import importlib.util
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import readback
from readback.cli import main
from tests.cli.program import run_cold


def commands(group: click.Group, path: tuple[str, ...] = ()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY_COMMAND = dict(commands(main))


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_every_command_and_option_has_a_help_text(path):
    command = EVERY_COMMAND[path]

    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.fixture
def bare(tmp_path: Path) -> list[str]:
    """Return a Python that can import Readback and click, and no other package."""
    for name in ("readback", "click"):
        spec = importlib.util.find_spec(name)
        (tmp_path / name).symlink_to(Path(spec.origin).parent)
    start = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "from readback.cli import main; main(prog_name='readback')"
    )
    return [sys.executable, "-I", "-S", "-c", start]


def test_help_and_version_work_without_the_server_packages(bare, tmp_path):
    assert "serve" in run_cold([*bare, "--help"], {}, tmp_path).stdout
    shown = run_cold([*bare, "--version"], {}, tmp_path).stdout
    assert shown.split()[-1] == readback.__version__


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve"],
        ["serve", "api"],
        ["serve", "cabinet"],
        ["serve", "--ephemeral"],
        ["migrate"],
        ["doctor"],
        ["manage", "help"],
        ["key", "list", "alice@example.org"],
        ["account", "show", "alice@example.org"],
    ],
    ids=" ".join,
)
def test_a_command_without_its_packages_says_how_to_install_them(
    bare, tmp_path, arguments
):
    done = run_cold([*bare, *arguments], {}, tmp_path)

    assert done.returncode == 3
    assert "pip install '.[server]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("se", "plain,serve"), ("key r", "plain,revoke\nplain,rotate"), ("key x", "")],
)
def test_the_tab_key_completes_commands_and_reads_no_settings(typed, offered):
    """The line in docs/cli.md makes bash set these variables to get completions."""
    words = f"readback {typed}"
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(typed.count(" ") + 1)}
    wrong = {"READBACK_TYPO": "1", "_READBACK_COMPLETE": "bash_complete"}
    done = CliRunner(env=variables | wrong).invoke(main, prog_name="readback")
    assert done.output.strip() == offered
