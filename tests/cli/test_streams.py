"""If a standard stream is closed or full, no key is lost, and servers still run."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import ALICE
from tests.cli.program import READBACK, Program, answers_200, run_cold
from tests.support.commands import COMMAND_SECONDS, environment_with
from tests.support.waiting import wait_until

FULL = Path("/dev/full")


def run_full(program: Program, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose standard output is on a full disk."""
    code = program.start(*arguments, stdout=FULL).wait(COMMAND_SECONDS)
    errors = (program.folder / "errors").read_text()
    return subprocess.CompletedProcess(arguments, code, "", errors)


def run_in_shell(
    program: Program, redirection: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command whose streams a shell redirects or closes."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *READBACK, *arguments]
    return run_cold(command, program.settings, program.folder)


def keys_of_alice(program: Program) -> list[Mapping[str, object]]:
    return json.loads(program.output("key", "list", ALICE, "--json"))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "JSON"])
def test_a_key_that_cannot_be_printed_is_not_made(with_alice, form):
    with_alice.output("key", "create", ALICE, "--name", "old")
    [old] = before = keys_of_alice(with_alice)
    for command in (
        ["create", ALICE],
        ["create", ALICE, "--if-missing", "new"],
        ["rotate", str(old["id"]), "--overlap", "now", "--yes"],
    ):
        done = run_full(with_alice, "key", *command, *form)

        assert_nothing_was_changed(done)
        assert keys_of_alice(with_alice) == before


def test_a_key_that_would_be_printed_to_a_closed_stream_is_not_made(with_alice):
    done = run_in_shell(with_alice, ">&-", "key", "create", ALICE)

    assert_nothing_was_changed(done)
    assert keys_of_alice(with_alice) == []


def assert_nothing_was_changed(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "Standard output cannot be written" in last
    assert "Nothing was changed" in last


def test_an_invitation_whose_link_cannot_be_printed_is_not_made(with_alice):
    done = run_full(with_alice, "account", "invite", "bob@example.org", "--link")

    assert_nothing_was_changed(done)
    assert with_alice.run("account", "show", "bob@example.org").returncode == 1


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- 2>&-"])
def test_a_key_is_made_only_if_it_is_printed(with_alice, redirection):
    done = run_in_shell(with_alice, redirection, "key", "create", ALICE)

    printed = [f"sk-echo-…{line[-4:]}" for line in done.stdout.splitlines()]
    assert [made["masked"] for made in keys_of_alice(with_alice)] == printed
    assert bool(printed) == (done.returncode == 0)


@pytest.mark.parametrize("option", [[], ["--show-key"]])
def test_a_server_runs_without_standard_output(program, option):
    errors = program.folder / "errors"
    process = program.start("serve", *option, stdout=FULL)
    try:
        wait_until(lambda: "Readback is running." in errors.read_text(), "it runs")
    finally:
        process.terminate()
    assert process.wait(COMMAND_SECONDS) == 0
    assert "Traceback" not in errors.read_text()


def test_a_server_runs_with_a_closed_standard_output(program):
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *READBACK, "serve"]
    environment = environment_with(program.settings)
    health = f"http://{program.settings['READBACK_CABINET_BIND']}/healthz"
    with subprocess.Popen(command, env=environment) as process:
        wait_until(lambda: answers_200(health), "it runs")
        process.terminate()
    assert process.returncode == 0


def test_characters_that_a_terminal_cannot_show_are_replaced(with_alice):
    with_alice.settings["PYTHONIOENCODING"] = "latin-1"
    with_alice.output("key", "create", ALICE, "--name", "Ключ")

    done = run_in_shell(with_alice, "", "key", "list", ALICE)

    assert (done.returncode, done.stderr) == (0, "")
    assert "????" in done.stdout
