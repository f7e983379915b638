"""`readback probe` as a process: key input, output formats, exit codes, terminal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from readback.keys import masked
from readback.probe.command import command_line
from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import key_from_file
from tests.probe.terminal import TIMEOUT, Terminal
from tests.support.commands import run_command
from tests.support.server import Server

# Without the step that only waits.
COMMAND = (sys.executable, "-m", "readback", "probe", "--idle", "0")


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("READBACK_")}
    return kept | more


def run(*arguments: str, key: str | None = None, more: Mapping[str, str] | None = None):
    """Run the command without a terminal, as a fork that has imported it."""
    given = dict(more or {}) | ({} if key is None else {"READBACK_API_KEY": key})
    return run_command(environment(**given), *COMMAND[3:], *arguments)


def run_with_pipes(*arguments: str, key: str | None = None, stdin: str = ""):
    """Run the command as a shell does: a new process between two pipes."""
    more = {} if key is None else {"READBACK_API_KEY": key}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def test_a_pipe_gets_plain_lines_with_the_verdict_first(readback: Server) -> None:
    done = run_with_pipes(readback.base_url, key=readback.api_key)
    assert done.returncode == FailureFamily.NONE, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "Works: every text was returned unchanged."
    assert lines[3].startswith("ok   address")
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
    assert all(fields <= set(step) for step in report["findings"])
    latency = next(step for step in report["findings"] if step["step"] == "latency")
    assert 1 <= latency["facts"]["samples"] <= 20  # Fewer if they take three seconds.
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
        ("alice@example.org", None, FailureFamily.ADDRESS),
        ("http://127.0.0.1:1/v1/models", None, FailureFamily.NETWORK),
        ("http://127.0.0.1:1/v1", "sk-echo-nonsense", FailureFamily.NETWORK),
        ("", "sk-echo-nonsense", FailureFamily.KEY),
    ],
)
def test_the_exit_code_is_the_family_of_the_verdict(
    address: str, key: str | None, family: FailureFamily, readback: Server
) -> None:
    done = run(address or readback.base_url, key=key or readback.api_key)
    assert done.returncode == family, done.stdout


def test_the_key_can_be_read_from_a_file(readback: Server, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{readback.api_key}\n")
    assert (
        run(readback.base_url, "--key-file", str(file)).returncode == FailureFamily.NONE
    )


def test_the_key_can_be_read_from_standard_input(readback: Server) -> None:
    done = run_with_pipes(
        readback.base_url, "--key-file", "-", stdin=f"{readback.api_key}\n"
    )
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1:1/v1", "gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key", "gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key=gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "-gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key-env", "gsk_a_key_of_another_service"],
    ],
)
def test_a_refused_argument_is_not_repeated(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: readback probe")
    assert "another_service" not in done.stdout + done.stderr


@pytest.mark.parametrize("seconds", ["0", "nan", "inf", "1e9", "ten", ""])
@pytest.mark.parametrize("option", ["--timeout", "--watch"])
def test_a_time_out_of_range_is_refused(option: str, seconds: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_line("probe").parse(["http://127.0.0.1:1/v1", option, seconds])


def test_help_is_that_of_the_probe() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout == command_line("readback probe").format_help()


def test_the_key_can_be_read_from_another_variable(readback: Server) -> None:
    keys = {"ECHO_KEY": readback.api_key, "READBACK_API_KEY": "sk-echo-wrong"}
    done = run(readback.base_url, "--key-env", "ECHO_KEY", "--json", more=keys)
    assert done.returncode == FailureFamily.NONE, done.stdout


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"sk-echo-1\n", "sk-echo-1"),
        (b"sk-echo-1 \r\n", "sk-echo-1 "),
        (b"\xff\xfes\x00", "\ufffd\ufffds\x00"),
    ],
)
def test_a_file_is_read_as_it_is(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(data)
    assert key_from_file(str(tmp_path / "key")) == text


@pytest.mark.parametrize("name", ["/", "/nowhere/key"])
def test_a_file_that_cannot_be_read_ends_with_a_sentence(name: str) -> None:
    done = run("http://127.0.0.1:1/v1", "--key-file", name)
    assert done.returncode == 2
    assert "The file with the key cannot be read: " in done.stderr


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (">/dev/full", "The report cannot be written: No space left on device.\n"),
        ("| true", ""),
        (">&- <&-", "The report cannot be written: Bad file descriptor.\n"),
    ],
)
def test_output_that_nobody_can_read_ends_without_a_traceback(
    output: str, sentence: str
) -> None:
    program = " ".join(COMMAND)
    done = subprocess.run(
        ["sh", "-c", f"{program} http://127.0.0.1:1/v1 {output}"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.stderr == sentence


def test_an_ascii_only_pipe_gets_the_report(readback: Server) -> None:
    done = subprocess.run(
        [*COMMAND, readback.base_url],
        env=environment(READBACK_API_KEY=readback.api_key, PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == FailureFamily.NONE, done.stderr
    assert done.stdout.isascii()


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


def terminal_with(*arguments: str, **more: str) -> Terminal:
    return Terminal([*COMMAND, *arguments], environment(**more))


def test_the_terminal_prompts_for_the_key_and_does_not_show_it(
    readback: Server,
) -> None:
    terminal = terminal_with(readback.base_url)
    terminal.wait_for("Key (hidden)")
    terminal.type(f"{readback.api_key}\n")
    assert terminal.exit_code() == FailureFamily.NONE
    assert readback.api_key not in terminal.shown
    assert masked(readback.api_key[-4:]) in terminal.shown


@pytest.mark.parametrize(
    ("key", "code"), [("\x03", 130), ("\x04", 1)], ids=["Ctrl-C", "Ctrl-D"]
)
def test_a_person_can_stop_at_the_prompt(key: str, code: int) -> None:
    terminal = terminal_with("http://127.0.0.1:1/v1")
    terminal.wait_for("Key (hidden)")
    terminal.type(key)
    assert terminal.exit_code() == code
    assert terminal.shown.split() == ["Key", "(hidden):", "Stopped."]


def test_a_pasted_key_that_is_not_text_is_reported(readback: Server) -> None:
    terminal = terminal_with(readback.base_url)
    terminal.wait_for("Key (hidden)")
    terminal.send(b"sk-echo-\xff\xfe\n")
    assert terminal.exit_code() == FailureFamily.KEY
    assert "Traceback" not in terminal.shown


def test_the_terminal_shows_the_verdict_and_then_the_walk(readback: Server) -> None:
    terminal = terminal_with(readback.base_url, READBACK_API_KEY=readback.api_key)
    assert terminal.exit_code() == FailureFamily.NONE
    assert "\x1b[32m" in terminal.shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown)
    verdict, row = "✓  Works: every text was returned unchanged.", "✓  echo: ASCII"
    assert 0 < text.index(verdict) < text.index(row)
    assert re.search(r"✓ +echo: ASCII +[\d.]+ ms +Returned unchanged", text)


def test_a_closed_standard_output_has_its_exit_code() -> None:
    script = 'exec "$@" >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *COMMAND, "http://127.0.0.1:1/v1"],
        env=environment(READBACK_API_KEY=""),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    # Whether Python notices at its start depends on what it opens before.
    assert done.stderr.startswith("The report cannot be written: ")


def test_a_terminal_of_an_unknown_kind_gets_no_colours() -> None:
    command = ["/usr/bin/env", "-u", "TERM", *COMMAND, "http://127.0.0.1:1/v1"]
    terminal = Terminal(command, environment(READBACK_API_KEY=""))
    terminal.exit_code()
    assert "fail TCP" in terminal.shown
    assert "\x1b" not in terminal.shown
