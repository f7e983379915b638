"""A server works with the system calls and the memory that deploy/systemd allows.

strace answers every call outside the filter with EPERM, as systemd does.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import answers_200
from tests.support.browser import Browser
from tests.support.commands import environment_with

SANDBOX = Path(__file__).parents[2] / "deploy/systemd/readback-.service.d/sandbox.conf"
# From <linux/prctl.h>; since Linux 6.3.
PR_SET_MDWE = 65
PR_MDWE_REFUSE_EXEC_GAIN = 1
BOB = {"email": "bob@example.org", "password1": "a lamp in the harbour"}
# libuv tries io_uring, and SQLite tries fchown if root runs it; neither needs the call.
REFUSED_BY_DESIGN = {"io_uring_setup", "fchown"}


def calls_of(groups: list[str]) -> set[str]:
    """Return the system calls in groups such as @system-service."""
    listed = subprocess.check_output(
        ["systemd-analyze", "syscall-filter", *groups], text=True
    )
    words = {line.strip() for line in listed.splitlines() if line.startswith(" ")}
    names = {word for word in words if word.isidentifier()}
    inner = sorted(word for word in words if word.startswith("@"))
    return names | calls_of(inner) if inner else names


def allowed_calls() -> set[str]:
    lines = re.findall(r"^SystemCallFilter=(.*)$", SANDBOX.read_text(), re.MULTILINE)
    allowed, denied = lines
    return calls_of(allowed.split()) - calls_of(denied.removeprefix("~").split())


def refuse_executable_memory() -> None:
    # Older kernels do not support this call, so executable memory is not tested there.
    ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)


@pytest.mark.skipif(
    not (shutil.which("systemd-analyze") and shutil.which("strace")),
    reason="needs the programs systemd-analyze and strace",
)
def test_both_planes_work_without_the_system_calls_that_the_sandbox_denies(
    migrated, tmp_path
):
    assert {"openat", "futex"} <= allowed_calls()
    denied = ",".join(f"?{name}" for name in sorted(calls_of([]) - allowed_calls()))
    log = tmp_path / "calls"
    command = [
        *("strace", "--follow-forks", "--seccomp-bpf", "-qqq", f"--output={log}"),
        *(f"--trace={denied}", f"--inject={denied}:error=EPERM"),
        *(sys.executable, "-m", "readback", "serve", "--ephemeral", "--json"),
    ]
    with subprocess.Popen(
        command,
        env=environment_with(
            {"READBACK_DATA_DIR": migrated.settings["READBACK_DATA_DIR"]}
        ),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=refuse_executable_memory,
    ) as strace:
        ready = json.loads(strace.stdout.readline())
        try:
            assert answers_200(f"{ready['base_url']}/models", ready["api_key"])
            # Signing up hashes a password.
            answer = Browser(ready["cabinet_url"]).post("/accounts/signup/", **BOB)
            assert BOB["email"] in answer
        finally:
            os.kill(ready["pid"], signal.SIGTERM)

    assert strace.returncode == 0
    refused = set(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE))
    assert refused <= REFUSED_BY_DESIGN
