"""`readback probe` as a process: keys, forms of output, exit codes, the terminal."""

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
from readback.probe.calls import MAX_REQUESTS
from readback.probe.findings import Family
from tests.probe.relay import relay
from tests.support.server import Server

COMMAND = (sys.executable, "-m", "readback", "probe")
PATIENCE = 60.0


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
        timeout=PATIENCE,
    )


def test_in_a_pipe_it_says_plain_lines_and_the_verdict_last(readback: Server) -> None:
    done = run(readback.base_url, key=readback.api_key)
    assert done.returncode == Family.WELL, done.stdout
    lines = done.stdout.splitlines()
    assert lines[-1] == "Works: every text was read back unchanged."
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
        ("http://127.0.0.1:1", None, Family.ADDRESS),
        ("http://127.0.0.1:1/v1", None, Family.NETWORK),
        ("http://127.0.0.1:1/v1", "sk-echo-nonsense", Family.KEY),
    ],
)
def test_the_exit_code_is_the_family_of_the_first_failure(
    address: str, key: str | None, family: Family, readback: Server
) -> None:
    done = run(address, key=key or readback.api_key)
    assert done.returncode == family, done.stdout


def test_the_key_can_come_from_a_file(readback: Server, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{readback.api_key}\n")
    assert run(readback.base_url, "--key-file", str(file)).returncode == Family.WELL


def test_the_key_can_come_from_standard_input(readback: Server) -> None:
    done = run(readback.base_url, "--key-file", "-", stdin=f"{readback.api_key}\n")
    assert done.returncode == Family.WELL


def test_where_nobody_can_be_asked_the_rest_is_walked_without_a_key(
    readback: Server,
) -> None:
    done = run(readback.base_url)
    assert done.returncode == Family.KEY
    assert "A Readback answers." in done.stdout


@pytest.mark.parametrize(
    "key", ["sk-echo-0123456789abcdef", "sk-proj-0123456789abcdef"]
)
@pytest.mark.parametrize("form", ["http://127.0.0.1:1/v1 {}", "x --key={}", "{}"])
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    form: str, key: str
) -> None:
    done = run(*form.format(key).split())
    assert done.returncode == 2
    assert "does not belong on the command line" in done.stderr
    assert key not in done.stdout + done.stderr


def test_a_pipe_that_knows_only_ascii_gets_its_report(readback: Server) -> None:
    done = subprocess.run(
        [*COMMAND, readback.base_url],
        env=environment(READBACK_API_KEY=readback.api_key, PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == Family.WELL, done.stderr
    assert done.stdout.isascii()


def test_a_walk_with_everything_stays_within_its_requests(readback: Server) -> None:
    with relay(readback.base_url) as counting:
        url = f"http://127.0.0.1:{counting.server_port}/v1"
        done = run(url, "--as", "openai", "--json", key=readback.api_key)
    report = json.loads(done.stdout)
    assert counting.count == report["requests"] <= MAX_REQUESTS
    assert report["steps"][-1]["id"] == "openai.same"


def test_watching_draws_the_latency_until_it_is_stopped(readback: Server) -> None:
    process = subprocess.Popen(
        [*COMMAND, readback.base_url, "--watch", "5"],
        env=environment(READBACK_API_KEY=readback.api_key),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    drawn = None
    for line in process.stdout:
        drawn = re.fullmatch(r"\d\d:\d\d:\d\dZ  ok +[\d.]+ ms  (\S+)\n", line)
        if drawn:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == Family.WELL
    process.stdout.close()
    assert drawn and set(drawn[1]) <= set("▁▂▃▄▅▆▇█")


class Terminal:
    """The command on a terminal of its own, as a person sees it."""

    def __init__(self, *arguments: str, **more: str) -> None:
        self.pid, self._line = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update(environment(TERM="xterm-256color", COLUMNS="100", **more))
            os.execv(COMMAND[0], [*COMMAND, *arguments])
        self.shown = ""

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown and time.monotonic() < deadline:
            if not self._read(deadline - time.monotonic()):
                break
        assert text in self.shown, self.shown

    def type(self, text: str) -> None:
        os.write(self._line, text.encode())

    def exit_code(self) -> int:
        while self._read(PATIENCE):
            pass
        os.close(self._line)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, seconds: float) -> bool:
        if not select.select([self._line], [], [], seconds)[0]:
            return False
        data = b""
        # Linux ends a terminal whose program is gone with an error, not with nothing.
        with suppress(OSError):
            data = os.read(self._line, 65536)
        self.shown += data.decode(errors="replace")
        return bool(data)


def test_on_a_terminal_the_key_is_asked_for_and_not_shown(readback: Server) -> None:
    terminal = Terminal(readback.base_url)
    terminal.wait_for("Key (it is not shown)")
    terminal.type(f"{readback.api_key}\n")
    assert terminal.exit_code() == Family.WELL
    assert readback.api_key not in terminal.shown
    assert masked(readback.api_key[-4:]) in terminal.shown


def test_on_a_terminal_the_checklist_is_live_and_in_colour(readback: Server) -> None:
    terminal = Terminal(readback.base_url, READBACK_API_KEY=readback.api_key)
    assert terminal.exit_code() == Family.WELL
    assert "⠋" in terminal.shown  # the step at work
    assert "\x1b[32m" in terminal.shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown).rstrip()
    assert re.search(r"✓ +echo: ASCII +[\d.]+ ms +Came back unchanged", text)
    assert text.endswith("✓  Works: every text was read back unchanged.")
