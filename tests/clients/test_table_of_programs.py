"""Drivers, table of programs, results and page tell the same about every client."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from clients import calls, drivers, page, results
from clients.__main__ import run_all
from clients.paths import LOCKS, NODE, PAGE
from clients.scenarios import (
    DEFAULT,
    NO_VERSION,
    RATE_LIMITED,
    SETTINGS,
    UNAVAILABLE,
    Result,
)

from readback import programs
from tests.clients.warm_python import warm_python

CLIENTS = drivers.all_clients()
PROGRAMS = {row.name: row for row in programs.table()}
BUTTONS = Path(__file__).with_name("buttons.toml")
DAY, RESULTS = results.load()

# Installed with the tests of this project, or part of the system. `make clients` runs
# all of them.
QUICK = ("curl", "openai-python@dev")
# OpenAI's library tries a request three times.
ATTEMPTS = {"openai-python@dev": 3}


def assert_matches_the_table(result: Result) -> None:
    """Compare what a client did with what the table of programs says about it."""
    row, default = PROGRAMS[result.program], result.calls[DEFAULT]
    assert row.complies == complies(result)
    if row.user_agent is None:
        return
    assert any(row.user_agent.search(one.user_agent) for one in default.requests)
    for difference in default.differences:
        every = "*" in row.cannot
        assert difference in {*row.switches, *row.cannot} or every, difference


def complies(result: Result) -> str:
    if result.calls[DEFAULT].accepted:
        return "out of the box"
    return "with settings" if result.calls[SETTINGS].accepted else "never"


def each(clients: dict[str, Result]) -> pytest.MarkDecorator:
    ran = [result for result in clients.values() if not result.not_run]
    return pytest.mark.parametrize("result", ran, ids=lambda result: result.client)


def test_every_program_that_was_run_has_a_driver_or_a_recorded_request():
    run = {row.name for row in PROGRAMS.values() if row.checked == "run"}
    buttons = tomllib.loads(BUTTONS.read_text(encoding="utf-8"))["button"]

    driven = {client.program for client in CLIENTS}
    assert driven <= run
    # Applications are too large to be installed here; their requests are replayed.
    assert run - driven <= {button["program"] for button in buttons}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_driver_runs_in_an_environment_that_exists(client: drivers.Client):
    locks = {path.stem for path in LOCKS.glob("*.txt")}

    assert client.environment in {"dev", "system", *NODE, *locks}


def test_every_environment_is_locked_and_used():
    sources = {path.stem for path in LOCKS.glob("*.in")}

    assert sources == {path.stem for path in LOCKS.glob("*.txt")}
    assert sources <= {client.environment for client in CLIENTS}


def test_the_page_has_a_row_for_every_client():
    assert {client.name for client in CLIENTS} == RESULTS.keys()
    text = PAGE.read_text(encoding="utf-8")
    for result in RESULTS.values():
        assert re.search(rf"^\| {re.escape(page.title(result))}\b", text, re.M)


def test_the_page_is_written_from_the_results_and_the_table():
    # Else: .venv/bin/python -m clients --render
    assert PAGE.read_text(encoding="utf-8") == page.markdown(DAY, RESULTS.values())


def test_the_page_contains_no_key_and_no_folder_of_a_machine():
    text = PAGE.read_text(encoding="utf-8")

    assert not re.search(r"sk-echo-\w{6}", text)
    assert not re.search(r"/(tmp|home|root|Users)/", text)


@each(RESULTS)
def test_the_published_results_match_the_table(result: Result):
    assert_matches_the_table(result)
    assert result.version in PROGRAMS[result.program].version


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Result]]:
    """What the quick clients do, and one that cannot be installed."""
    driver = tmp_path_factory.mktemp("drivers") / "absent.sh"
    driver.write_text(
        "# program: curl\n# environment: system\n# package: zyzzyva-47\nexit 0\n"
    )
    chosen = [client for client in CLIENTS if client.name in QUICK]
    run_cold = calls._run
    with pytest.MonkeyPatch.context() as patch, warm_python("openai") as python:

        def run(words, environment, folder, seconds):
            if words[:2] != [sys.executable, "-P"]:
                return run_cold(words, environment, folder, seconds)
            done = python.run(words[2:], environment, folder)
            return done.returncode, done.stdout + done.stderr

        patch.setattr(calls, "_run", run)
        yield run_all([*chosen, *drivers.clients_of(driver)])


@pytest.mark.parametrize("name", QUICK)
def test_a_client_of_this_environment_does_what_the_table_says(name, found):
    result = found[name]
    if name == "curl" and result.not_run:
        pytest.skip(result.not_run)
    assert not result.not_run, result
    assert_matches_the_table(result)
    assert result.calls[NO_VERSION].differences == ["base_url"]
    for scenario in (RATE_LIMITED, UNAVAILABLE):
        attempts = len(result.calls[scenario].requests)
        assert attempts == ATTEMPTS.get(name, 1), (name, scenario)


def test_a_client_that_cannot_be_installed_is_reported_with_the_reason(found):
    assert found["absent"].not_run == "zyzzyva-47 is not on PATH"
    assert not found["absent"].calls
