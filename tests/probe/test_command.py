"""`readback probe` as a process: key input, output formats, exit codes, terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from readback.keys import masked
from readback.probe.client import MAX_REQUESTS
from readback.probe.results import FailureFamily
from tests.probe.relay import relay
from tests.support.server import Server

COMMAND = (sys.executable, "-m", "readback", "probe")
TIMEOUT = 60.0


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    return kept | more


def run(*arguments: str, key: str | None = None, stdin: str = ""):
    more = {} if key is None else {"READBACK_API_KEY": key}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def test_a_pipe_gets_plain_lines_with_the_verdict_last(readback: Server) -> None:
    done = run(readback.base_url, key=readback.api_key)
    assert done.returncode == FailureFamily.NONE, done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1] == "Works: every text was returned unchanged."
    assert lines[0].startswith("ok   address")
    assert "\x1b" not in done.stdout
    assert masked(readback.api_key[-4:]) in done.stdout
    assert readback.api_key not in done.stdout + done.stderr


def test_json_is_one_line_with_every_step(readback: Server) -> None:
    done = run(readback.base_url, "--json", key=readback.api_key)
    report = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (report["verdict"], report["exit_code"]) == ("ok", done.returncode)
    assert report["key"] == masked(readback.api_key[-4:])
    fields = {"step", "id", "verdict", "figure", "sentence", "hint", "culprit"}
    assert all(fields <= set(step) for step in report["steps"])
    latency = next(step for step in report["steps"] if step["step"] == "latency")
    assert latency["facts"]["samples"] == 20
    assert latency["facts"]["answer"]["p50_ms"] <= latency["facts"]["answer"]["max_ms"]
    assert readback.api_key not in done.stdout


def test_markdown_is_a_report_to_paste(readback: Server) -> None:
    done = run(readback.base_url + "/", "--markdown", key=readback.api_key)
    assert done.stdout.startswith(f"### Probe of {readback.base_url}\n")
    assert "| **warn** | address |" in done.stdout
    assert "| ok | echo: 8192 bytes |" in done.stdout
    assert readback.api_key not in done.stdout


@pytest.mark.parametrize(
    ("address", "key", "family"),
    [
        ("http://127.0.0.1:1", None, FailureFamily.ADDRESS),
        ("http://127.0.0.1:1/v1", None, FailureFamily.NETWORK),
        ("http://127.0.0.1:1/v1", "sk-echo-nonsense", FailureFamily.KEY),
    ],
)
def test_the_exit_code_is_the_family_of_the_first_failure(
    address: str, key: str | None, family: FailureFamily, readback: Server
) -> None:
    done = run(address, key=key or readback.api_key)
    assert done.returncode == family, done.stdout


def test_the_key_can_be_read_from_a_file(readback: Server, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{readback.api_key}\n")
    assert (
        run(readback.base_url, "--key-file", str(file)).returncode == FailureFamily.NONE
    )


def test_the_key_can_be_read_from_standard_input(readback: Server) -> None:
    done = run(readback.base_url, "--key-file", "-", stdin=f"{readback.api_key}\n")
    assert done.returncode == FailureFamily.NONE


def test_without_a_terminal_or_a_key_the_other_steps_still_run(
    readback: Server,
) -> None:
    done = run(readback.base_url)
    assert done.returncode == FailureFamily.KEY
    assert "Readback responded." in done.stdout


@pytest.mark.parametrize(
    "key", ["sk-echo-0123456789abcdef", "sk-proj-0123456789abcdef"]
)
@pytest.mark.parametrize("form", ["http://127.0.0.1:1/v1 {}", "x --key={}", "{}"])
def test_a_key_on_the_command_line_is_refused_and_not_shown(
    form: str, key: str
) -> None:
    done = run(*form.format(key).split())
    assert done.returncode == 2
    assert "An argument looks like a key." in done.stderr
    assert key not in done.stdout + done.stderr


def test_an_ascii_only_pipe_gets_the_report(readback: Server) -> None:
    done = subprocess.run(
        [*COMMAND, readback.base_url],
        env=environment(READBACK_API_KEY=readback.api_key, PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == FailureFamily.NONE, done.stderr
    assert done.stdout.isascii()


def test_a_complete_run_stays_within_the_request_budget(readback: Server) -> None:
    with relay(readback.base_url) as counting:
        url = f"http://127.0.0.1:{counting.server_port}/v1"
        done = run(url, "--run", "--json", key=readback.api_key)
    report = json.loads(done.stdout)
    assert counting.count == report["requests"] <= MAX_REQUESTS
    assert report["steps"][-1]["id"] == "run.same"


def test_watch_charts_the_latency_until_it_is_stopped(readback: Server) -> None:
    process = subprocess.Popen(
        [*COMMAND, readback.base_url, "--watch", "5"],
        env=environment(READBACK_API_KEY=readback.api_key),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    chart = None
    for line in process.stdout:
        chart = re.fullmatch(r"\d\d:\d\d:\d\dZ  ok +[\d.]+ ms  (\S+)\n", line)
        if chart:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT) == FailureFamily.NONE
    process.stdout.close()
    assert chart and set(chart[1]) <= set("▁▂▃▄▅▆▇█")


class Terminal:
    """The command in a pseudo-terminal, as a user sees it."""

    def __init__(self, *arguments: str, **more: str) -> None:
        self.pid, self._line = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update(environment(TERM="xterm-256color", COLUMNS="100", **more))
            os.execv(COMMAND[0], [*COMMAND, *arguments])
        self.shown = ""

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while text not in self.shown and time.monotonic() < deadline:
            if not self._read(deadline - time.monotonic()):
                break
        assert text in self.shown, self.shown

    def type(self, text: str) -> None:
        os.write(self._line, text.encode())

    def exit_code(self) -> int:
        while self._read(TIMEOUT):
            pass
        os.close(self._line)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, seconds: float) -> bool:
        if not select.select([self._line], [], [], seconds)[0]:
            return False
        data = b""
        # On Linux, reading from the terminal of an exited process raises an error.
        with suppress(OSError):
            data = os.read(self._line, 65536)
        self.shown += data.decode(errors="replace")
        return bool(data)


def test_the_terminal_prompts_for_the_key_and_does_not_show_it(
    readback: Server,
) -> None:
    terminal = Terminal(readback.base_url)
    terminal.wait_for("Key (hidden)")
    terminal.type(f"{readback.api_key}\n")
    assert terminal.exit_code() == FailureFamily.NONE
    assert readback.api_key not in terminal.shown
    assert masked(readback.api_key[-4:]) in terminal.shown


def test_the_terminal_shows_a_live_checklist_in_color(readback: Server) -> None:
    terminal = Terminal(readback.base_url, READBACK_API_KEY=readback.api_key)
    assert terminal.exit_code() == FailureFamily.NONE
    assert "⠋" in terminal.shown  # the running step
    assert "\x1b[32m" in terminal.shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown).rstrip()
    assert re.search(r"✓ +echo: ASCII +[\d.]+ ms +Returned unchanged", text)
    assert text.endswith("✓  Works: every text was returned unchanged.")
