"""`--run` asks the programs of this machine, and tells how their results differ."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from readback.keys import mint
from readback.probe.clients import running
from readback.probe.clients.running import ask, find_programs
from readback.probe.command import main
from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import Secret
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.runner import RUN_PROGRAMS, STEPS, ProbeRun, Step
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import MAX_REQUESTS, RequestBudget
from tests.probe.gateway import Call, Reply, gateway, pass_on
from tests.support.commands import free_port
from tests.support.programs import needed_program
from tests.support.server import Server

# What the last step needs; the others are tested elsewhere.
NEEDED_IDS = ("address", "key", "proxies", "dns", "tcp", "tls", "http", "access")
NOWHERE = "http://127.0.0.1:1/v1"
NEEDED = tuple(step for step in STEPS if step.id in NEEDED_IDS)


def probed(
    url: str,
    key: str,
    budget: RequestBudget | None = None,
    steps: tuple[Step, ...] = NEEDED,
) -> ProbeReport:
    # No program and no step needs a tenth of this time.
    context = ProbeContext(
        url, Secret(key), timeout=30, budget=budget or RequestBudget()
    )
    return ProbeRun(context).run((*steps, RUN_PROGRAMS))


@pytest.fixture
def only_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave only the packages of this Python."""
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))


@pytest.fixture
def only_curl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave only curl, which starts fastest; return the file of its command lines."""
    curl = needed_program("curl")
    noted = tmp_path / "commands"
    program(tmp_path / "curl", f'echo "$0 $@" >> {noted}\nexec {curl} "$@"')
    only(monkeypatch, str(tmp_path))
    return noted


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def only(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(sys, "executable", "")


@pytest.mark.long
def test_every_program_gets_the_models_within_the_budget(
    readback: Server,
) -> None:
    with gateway(readback.base_url) as counting:
        report = probed(counting.base_url, readback.api_key, steps=STEPS)
    assert next(counting.calls) - 1 == report.requests <= MAX_REQUESTS
    diagnosis = report.results[-1].diagnosis
    assert diagnosis.id == "run.same", diagnosis
    told = r"curl: status 200|(Python (requests|httpx|openai)|node) [\d.]+: status 200"
    assert all(re.fullmatch(told, line) for line in diagnosis.details)
    assert sum(line.startswith("Python ") for line in diagnosis.details) == 3


@pytest.mark.usefixtures("only_python")
def test_a_program_that_fails_on_a_working_connection_is_the_finding(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package reads this variable but cannot encode the value in a header.
    monkeypatch.setenv("OPENAI_ORG_ID", "организация")
    report = probed(readback.base_url, readback.api_key)
    assert (report.id, report.family) == ("run.differs", FailureFamily.LIBRARY), (
        report.sentence
    )
    assert "; Python openai: no response." in report.results[-1].diagnosis.sentence


def test_the_option_runs_the_programs(
    readback: Server,
    only_curl: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("READBACK_API_KEY", readback.api_key)
    common = [readback.base_url, "--json"]
    assert main(common) == main([*common, "--run"]) == FailureFamily.NONE
    without, with_run = map(json.loads, capsys.readouterr().out.splitlines())
    assert with_run["findings"][-1]["id"] == "run.same"
    assert with_run["requests"] == without["requests"] + 1
    assert only_curl.exists()


def test_a_key_that_was_not_accepted_is_not_sent_again(
    readback: Server, only_curl: Path
) -> None:
    seen: list[str] = []

    def note(call: Call) -> Reply:
        if call["Authorization"] == f"Bearer {key}":
            seen.append(call["User-Agent"].partition("/")[0])
        return pass_on(call)

    key = mint()
    with gateway(readback.base_url, note) as server:
        report = probed(server.base_url, key)
    assert only_curl.exists()
    assert report.results[-1].diagnosis.facts["outcome"] == "status 401"
    assert set(seen) == {"readback-probe"}


def test_the_key_is_on_no_command_line_and_in_no_report(
    readback: Server, only_curl: Path
) -> None:
    report = probed(readback.base_url, readback.api_key)
    assert report.results[-1].diagnosis.id == "run.same"
    assert "--config -" in only_curl.read_text()
    shown = text.as_json(report) + text.as_short(report)
    assert readback.api_key not in only_curl.read_text() + shown


def test_programs_without_a_response_do_not_look_as_if_they_work(
    only_curl: Path,
) -> None:
    report = probed(f"http://127.0.0.1:{free_port()}/v1", mint())
    assert report.id == "tcp.refused_here"
    assert report.results[-1].diagnosis.id == "run.none"
    assert "connect" in report.results[-1].diagnosis.details[0]
    assert only_curl.exists()


def test_programs_beyond_the_budget_are_not_asked(
    readback: Server, only_curl: Path
) -> None:
    # Three requests of the probe itself; curl would need one more.
    report = probed(readback.base_url, readback.api_key, RequestBudget(3))
    assert report.results[-1].diagnosis.id == "run.none"
    assert not only_curl.exists()


def test_without_any_program_there_is_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, readback: Server
) -> None:
    only(monkeypatch, str(tmp_path))
    report = probed(readback.base_url, readback.api_key)
    assert report.results[-1].diagnosis.id == "run.none"


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "head -c 100000 /dev/urandom",
        "printf 'status 1e9\\nerror \\033[31msk-echo-%038d\\n'",
    ],
)
@pytest.mark.parametrize("name", ["curl", "node"])
def test_a_program_that_prints_nonsense_is_reported_as_no_response(
    name: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / name, f"PATH=/usr/bin:/bin\n{script}")
    only(monkeypatch, str(tmp_path))
    answer = ask(find_programs()[name], NOWHERE, "key", 1.0)
    assert answer.status == 0
    assert (answer.version + answer.error).isprintable()
    assert "sk-echo-0" not in answer.error


def test_a_program_without_an_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "node", "/bin/sleep 300")
    only(monkeypatch, str(tmp_path))
    monkeypatch.setattr(running, "_START_SECONDS", 0.1)
    answer = ask(find_programs()["node"], NOWHERE, "key", 0.1)
    assert answer.error == "no end within 0.2 s"


def test_the_key_in_an_error_message_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "node", 'read url; read key; echo "error bad header $key"')
    only(monkeypatch, str(tmp_path))
    answer = ask(find_programs()["node"], NOWHERE, "any form of key", 1.0)
    assert answer.error == "bad header [key]"
