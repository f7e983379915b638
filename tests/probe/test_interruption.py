"""Ctrl-C, SIGTERM and the time limit end a run with a report of the findings so far."""

import io
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from readback.probe import runner
from readback.probe.command import signals_interrupt
from readback.probe.common.catalogue import diagnose
from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import Secret
from readback.probe.output.console import ProgressLine
from readback.probe.report import ProbeReport
from readback.probe.runner import ProbeRun, Step
from readback.probe.transport.context import ProbeContext
from tests.probe.broken_servers import socket_server
from tests.probe.forms import REPORT_SCHEMA
from tests.probe.terminal import TIMEOUT, Terminal
from tests.probe.test_command import COMMAND, environment

FORMS = {"plain": [], "verbose": ["--verbose"], "JSON": ["--json"]}


@contextmanager
def silent_service() -> Iterator[tuple[str, threading.Event]]:
    """Yield the URL of a service that never responds, and an event set by a request."""
    asked = threading.Event()

    def behave(client) -> None:
        if client.recv(65_536):  # Other steps only connect.
            asked.set()

    with socket_server(behave) as port:
        yield f"http://127.0.0.1:{port}/v1", asked


def interrupted(arguments: list[str], number: int) -> tuple[str, int]:
    """Send a signal while the step "HTTP" waits; return the output and exit code."""
    with silent_service() as (url, asked):
        process = subprocess.Popen(
            [*COMMAND, url, *arguments],
            env=environment(READBACK_API_KEY="sk-echo-wrong"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert asked.wait(TIMEOUT)
        process.send_signal(number)
        output, _ = process.communicate(timeout=TIMEOUT)
    return output, process.returncode


@pytest.mark.parametrize("arguments", FORMS.values(), ids=FORMS)
def test_ctrl_c_gives_what_was_found_so_far(arguments: list[str]) -> None:
    output, code = interrupted(arguments, signal.SIGINT)
    assert code == FailureFamily.INTERRUPTED, output
    assert "Traceback" not in output
    if arguments == ["--json"]:
        document = json.loads(output)
        REPORT_SCHEMA.validate(document)
        assert document["interrupted"] == "http"
        assert document["family"] == "interrupted"
        assert document["findings"][1]["verdict"] == "fail"
    else:
        assert "Fails at “key”: " in output
        assert "Interrupted at “HTTP”." in output


def test_ctrl_c_while_a_failure_is_confirmed_interrupts_the_run() -> None:
    asked, requests = threading.Event(), []

    def behave(client) -> None:
        if client.recv(65_536).startswith(b"GET "):
            requests.append(client)
            if len(requests) > 1:  # The repeated request.
                asked.set()
                return
        client.close()

    with socket_server(behave) as port:
        process = subprocess.Popen(
            [*COMMAND, f"http://127.0.0.1:{port}/v1"],
            env=environment(READBACK_API_KEY=""),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert asked.wait(TIMEOUT)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == FailureFamily.INTERRUPTED
    assert "Interrupted at “HTTP”" in output
    assert "Fails at" not in output


def test_sigterm_is_like_ctrl_c() -> None:
    output, code = interrupted([], signal.SIGTERM)
    assert code == FailureFamily.INTERRUPTED
    assert "Interrupted at “HTTP”." in output


def test_a_signal_that_was_ignored_from_the_start_stays_ignored() -> None:
    ignoring = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")
    with silent_service() as (url, asked):
        process = subprocess.Popen(
            [*ignoring, *COMMAND, url],
            env=environment(READBACK_API_KEY="sk-echo-wrong"),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert asked.wait(TIMEOUT)
        process.send_signal(signal.SIGINT)
        status = Path(f"/proc/{process.pid}/status").read_text()
        ignored = int(re.search(r"SigIgn:\s+(\w+)", status)[1], 16)
        assert ignored >> (signal.SIGINT - 1) & 1
        process.terminate()
        output, _ = process.communicate(timeout=TIMEOUT)
    assert "Interrupted at “HTTP”." in output
    assert process.returncode == FailureFamily.INTERRUPTED


def test_ctrl_c_in_a_terminal_removes_the_progress_line() -> None:
    with silent_service() as (url, _):
        terminal = Terminal([*COMMAND, url], environment(READBACK_API_KEY=""))
        terminal.wait_for("HTTP (")
        assert "steps done, " in terminal.shown
        terminal.type("\x03")
        assert terminal.exit_code() == FailureFamily.INTERRUPTED
    report = terminal.shown.rpartition("\r ")[2]
    assert "Interrupted at “HTTP”" in report
    assert "steps done" not in report


class InterruptedTerminal(io.StringIO):
    """A terminal whose user presses Ctrl-C as soon as it shows progress."""

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        if "steps done" in self.getvalue() and not self.getvalue().endswith("\r"):
            raise KeyboardInterrupt


def test_ctrl_c_while_the_progress_is_written_removes_it_too() -> None:
    screen = InterruptedTerminal()
    progress = ProgressLine(screen)
    with pytest.raises(KeyboardInterrupt):
        progress.show("HTTP", 6)
    progress.clear()
    width = len("HTTP (6 steps done, 0 s)")
    assert screen.getvalue().endswith(f"\r{' ' * width}\r")


def test_progress_is_shown_beside_a_pipe() -> None:
    with silent_service() as (url, _):
        script = 'exec "$@" --timeout 2 | cat >/dev/null'
        command = ["/bin/sh", "-c", script, "sh", *COMMAND, url]
        terminal = Terminal(command, environment(READBACK_API_KEY=""))
        terminal.wait_for("HTTP (")
        terminal.exit_code()
    assert "Fails at" not in terminal.shown


class Interrupting(ProgressLine):
    """A display whose user presses Ctrl-C when it shows the step with this title."""

    def __init__(self, title: str) -> None:
        super().__init__(None)
        self._title = title

    def show(self, step: str, done: int) -> None:
        if step == self._title:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def hanging() -> Iterator[Step]:
    """Yield a step that ends only when the test does."""
    end = threading.Event()
    yield Step("hangs", "hangs", lambda _: end.wait(TIMEOUT) and diagnose("echo.same"))
    end.set()


def passes(_: ProbeContext):
    return diagnose("echo.same")


def fails(_: ProbeContext):
    raise LookupError("a text that is not shown")


def run(*steps: Step, display=None) -> ProbeReport:
    context = ProbeContext("http://127.0.0.1:1/v1", Secret(""), timeout=0.1)
    with signals_interrupt():
        return ProbeRun(context, display).run(steps)


def ids(report: ProbeReport) -> list[str]:
    return [f"{result.step} {result.diagnosis.id}" for result in report.results]


def test_ctrl_c_says_which_steps_did_not_run() -> None:
    with hanging() as step:
        later = Step("later", "later", passes)
        report = run(step, later, display=Interrupting("hangs"))
    assert ids(report) == ["hangs probe.interrupted", "later skipped.failed"]
    assert report.not_tried == ["hangs", "later"]


def test_a_second_ctrl_c_ends_the_program_at_once() -> None:
    code = (
        "import signal\n"
        "from readback.probe.command import signals_interrupt\n"
        "with signals_interrupt():\n"
        "    try:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""


def test_a_run_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SHORTEST_TIME_LIMIT", 2.0)
    with hanging() as step:
        report = run(Step("access", "key", passes), step, Step("last", "last", passes))
    assert ids(report) == [
        "access echo.same",
        "hangs probe.time_limit",
        "last skipped.failed",
    ]
    assert "2 s" in report.sentence
    assert report.family == FailureFamily.NONE


def test_a_run_that_ends_before_the_key_is_accepted_is_not_a_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "SHORTEST_TIME_LIMIT", 2.0)
    with hanging() as step:
        report = run(step, Step("access", "key", passes, ("hangs",)))
    assert ids(report) == ["hangs probe.time_limit", "access skipped.failed"]
    assert report.family == FailureFamily.HTTP


def test_a_step_that_fails_in_itself_is_reported_and_the_run_goes_on() -> None:
    report = run(
        Step("broken", "broken", fails),
        Step("needs", "needs", passes, ("broken",)),
        Step("last", "last", passes),
    )
    assert ids(report) == [
        "broken probe.unexpected",
        "needs skipped.failed",
        "last echo.same",
    ]
    assert "LookupError at test_interruption.py:" in report.sentence
    assert report.family == FailureFamily.PROBE


def test_a_display_that_fails_does_not_cost_the_report() -> None:
    class Broken(ProgressLine):
        def show(self, step: str, done: int) -> None:
            raise UnicodeEncodeError("ascii", "…", 0, 1, "not shown")

    slow = threading.Event()
    step = Step("slow", "slow", lambda _: slow.wait(0.2) or diagnose("echo.same"))
    assert ids(run(step, display=Broken(None))) == ["slow echo.same"]
