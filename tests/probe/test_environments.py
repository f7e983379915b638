"""No address, key or environment makes the probe end in a traceback."""

import socket
import subprocess
import sys
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import Secret
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.context import ProbeContext
from tests.probe.forms import FORMS
from tests.probe.setups import Resources
from tests.probe.terminal import TIMEOUT, Terminal
from tests.probe.test_command import environment, run

# Runs the same `__main__.py` as probe.pyz, without the other `readback` commands.
PROBE = (sys.executable, "-m", "readback.probe")
NOWHERE = "http://127.0.0.1:1/v1"
MANY = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PROXY_VARIABLES = ["http_proxy", "HTTP_PROXY", "all_proxy", "no_proxy", "NO_PROXY"]
ADDRESS_PARTS = st.sampled_from(
    [
        "http://", "https://", "HTTP:/", "socks5://", "127.0.0.1", "[::1]", "[", "]",
        ":1", ":", ":99999", ":0x1", "/v1", "/V1", "/", "?a=b", "#c", "user:pa%ss@",
        "%", "\0", "\x1b[2J", "\u202e", "\u0441", "\ud800", " ", "\n", "*", ",", "\\",
        "0", "999.1.1.1", "/8", "a" * 300, "sk-proj-abcdef0123456789", "“", "=", "{",
    ]
)  # fmt: skip
LOCAL = st.lists(ADDRESS_PARTS, max_size=6).map("".join)
KEYS = st.text(max_size=60) | LOCAL | LOCAL.map("sk-echo-{}".format)


@pytest.fixture(autouse=True)
def _local(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not look up names, so nothing leaves this machine; load few certificates."""
    numeric = partial(socket.getaddrinfo, flags=socket.AI_NUMERICHOST)
    monkeypatch.setattr(socket, "getaddrinfo", numeric)
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))


def assert_reported(url: str, key: str) -> None:
    context = ProbeContext(url, Secret(key), timeout=0.2)
    report = ProbeRun(context).run(STEPS)
    found = [result.diagnosis for result in report.results]
    assert "probe.unexpected" not in {diagnosis.id for diagnosis in found}, found
    for form in FORMS.values():
        assert form(report).replace("\n", "").isprintable()


@MANY
@given(url=LOCAL, key=KEYS)
@example(url="", key="")
@example(url="http://[::1%25eth0]:1/v1", key="\ud800")
@example(url="http://127.0.0.1:1/v1", key="\r\nX-Injected: 1")
def test_any_address_and_key_are_reported(url: str, key: str) -> None:
    assert_reported(url, key)


@MANY
@given(values=st.dictionaries(st.sampled_from(PROXY_VARIABLES), LOCAL, min_size=1))
@example(values={"http_proxy": "http://[", "no_proxy": "[::1]:x,*,127.0.0.0/99"})
@example(values={"http_proxy": "http://\udcff:\udcff@127.0.0.1:1"})
def test_any_proxy_setting_is_reported(values: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value.replace("\0", "").replace("\ud800", "\udc80"))
        assert_reported(NOWHERE, "")


def in_shell(script: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in which "$@" is the probe."""
    return subprocess.run(
        ["sh", "-c", script, "sh", *PROBE, NOWHERE],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT,
    )


# Python reads these variables at startup, so each case needs a new process.
AT_THE_START = {
    "a locale of ASCII only": {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"},
    "an unknown locale": {"LC_ALL": "xx_XX.nothing", "LANG": "?"},
    "Windows' old encoding": {"PYTHONIOENCODING": "cp437"},
}
LATER = {
    "no home": {"HOME": ""},
    "a home that is missing": {"HOME": "/nowhere"},
    "a list of certificates that is missing": {"SSL_CERT_FILE": "/nowhere"},
    "a list of certificates that is none": {"SSL_CERT_FILE": "/bin/sh"},
    "a list of certificates that is a folder": {"SSL_CERT_FILE": "/"},
    "a terminal without width": {"COLUMNS": "0", "LINES": "-1", "TERM": "dumb"},
    "a terminal of letters": {"COLUMNS": "wide", "TERM": "nothing"},
    "a proxy that is none": {"http_proxy": "::::", "ALL_PROXY": "\udcff"},
}


@pytest.mark.parametrize("more", AT_THE_START.values(), ids=AT_THE_START)
def test_an_odd_start_is_no_reason_for_a_traceback(more: dict[str, str]) -> None:
    assert_told(in_shell('"$@"', **more))


@pytest.mark.parametrize("more", LATER.values(), ids=LATER)
def test_an_odd_environment_is_no_reason_for_a_traceback(more: dict[str, str]) -> None:
    assert_told(run(NOWHERE, more=more))


def assert_told(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stderr == ""
    assert "Fails at " in done.stdout
    assert done.returncode in set(FailureFamily) - {FailureFamily.PROBE}


@pytest.mark.parametrize(
    "script",
    [
        'd=$(mktemp -d); cd "$d"; rmdir "$d"; "$@"',
        '"$@" <&-',
        '"$@" >&-',
        '"$@" 2>&-',
        '"$@" <&- >&- 2>&-',
        '"$@" --json | head -c 1',
        '"$@" --verbose >/dev/full',
        '"$@" --key-file /dev/stdin <&-',
        'ulimit -n 8; "$@"',
        'unset HOME PATH USER; "$@"',
    ],
)
def test_a_missing_part_of_the_process_is_no_reason_for_a_traceback(
    script: str,
) -> None:
    done = in_shell(script)
    assert "Traceback" not in done.stdout + done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize(
    "more",
    [
        {"NO_COLOR": "1"},
        {"TERM": "dumb"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "cp437"},
    ],
    ids=str,
)
def test_any_terminal_gets_the_report(more: dict[str, str]) -> None:
    # `Terminal` sets TERM itself, so `env` sets these variables afterwards.
    changes = (f"{name}={value}" for name, value in more.items())
    command = ["/usr/bin/env", *changes, *PROBE, NOWHERE]
    terminal = Terminal(command, environment(READBACK_API_KEY=""))
    assert terminal.exit_code() == FailureFamily.NETWORK, terminal.shown

    assert "Fails at" in terminal.shown
    if {"NO_COLOR", "TERM"} & set(more):
        assert "\x1b[3" not in terminal.shown
