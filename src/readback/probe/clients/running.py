"""The step "programs run": asks for the models with the programs of this machine.

The key is sent only if the probe's own request with it was accepted; otherwise the
programs are asked with a word that is not a key, to see whether they get a response.

Each runs in a process of its own with a deadline. curl reads its options from standard
input; the others run a small program in scripts/, which reads three lines (the base
URL, the key, a timeout in seconds). They print lines that begin with `version`,
`status` or `error`. A key is never on a command line, because other users of a machine
can see those.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.transport.context import ProbeContext

_NO_KEY = "no-key"
_CONFIG = "--config"  # curl
_PACKAGE = "readback.probe.clients"
_START_SECONDS = 20.0
_PACKAGES = ("requests", "httpx", "openai")


def check(context: ProbeContext) -> Diagnosis:
    key = context.usable_key if "models" in vars(context) else None
    text, timeout = key.reveal() if key else _NO_KEY, context.timeout
    started = {}
    with suppress(ProbeError):  # The budget for requests is used up.
        for name, command in find_programs().items():
            context.budget.spend()
            send = partial(ask, command, str(context.base_url), text, timeout)
            started[name] = BackgroundCall(send)
    answers = {name: call.result() for name, call in started.items()}
    groups: dict[str, list[str]] = {}
    for name, answer in answers.items():
        groups.setdefault(_outcome(answer.status), []).append(name)
    lines = (
        f"{f'{name} {answer.version}'.rstrip()}: {_outcome(answer.status)}"
        + (f": {answer.error}" if answer.error else "")
        for name, answer in answers.items()
    )
    if key:
        own = _outcome(context.models.status)
        groups.setdefault(own, []).append(say("this_program"))
    said = (f"{', '.join(names)}: {outcome}" for outcome, names in groups.items())
    id = "run.same" if len(groups) == 1 else "run.differs"
    if not any(one.status for one in answers.values()):
        id = "run.none"
    diagnosis = diagnose(id, outcomes="; ".join(said), outcome=next(iter(groups), ""))
    return replace(diagnosis, details=tuple(lines))


def _outcome(status: int) -> str:
    return say("with_status", status=status) if status else say("no_response")


class ProgramAnswer(NamedTuple):
    version: str
    status: int
    """The status of the response, 0 if there was none."""
    error: str


def ask(command: list[str], url: str, key: str, timeout: float) -> ProgramAnswer:
    """Run a program that asks for the models, and return what it says."""
    given = "\n".join((url, key, f"{timeout:g}", ""))
    if _CONFIG in command:
        given = _for_curl(url, key, timeout)
    printed, complaint = (
        text.replace(key, "[key]")
        for text in _run(command, given, timeout + _START_SECONDS)
    )
    lines = (line.partition(" ") for line in printed.splitlines())
    found = {name: rest for name, _, rest in lines}
    status, error = found.get("status", ""), found.get("error", "")
    number = int(status) if re.fullmatch("[1-5][0-9]{2}", status) else 0
    if not number and not error:
        error = complaint.strip().rpartition("\n")[2] or say("it_printed_nothing")
    return ProgramAnswer(sanitize(found.get("version", "")), number, sanitize(error))


def find_programs() -> dict[str, list[str]]:
    """Return the command of each program that is installed, by its name."""
    commands = {}
    if curl := shutil.which("curl"):
        commands["curl"] = [curl, _CONFIG, "-"]
    if node := shutil.which("node"):
        commands["node"] = [node, "--input-type=module", "-e", _source("ask.mjs")]
    # One for each package, with the first Python that has it.
    names = ("python3", "python", sys.executable or "")
    found = filter(None, map(shutil.which, names))
    # Several names of one program in one folder have the same packages.
    paths = {(os.path.dirname(path), os.path.realpath(path)): path for path in found}
    calls = [
        (path, BackgroundCall(partial(_packages, path))) for path in paths.values()
    ]
    for path, call in calls:
        for package in call.result():
            command = [path, "-c", _source("ask.py"), package]
            commands.setdefault(f"Python {package}", command)
    return commands


def _packages(python: str) -> list[str]:
    """Return those of the packages that this Python has."""
    printed, _ = _run([python, "-c", _source("ask.py")], "", _START_SECONDS)
    found = printed.split()
    return [package for package in _PACKAGES if package in found]


def _for_curl(url: str, key: str, timeout: float) -> str:
    # curl reads its options from standard input as if it were a file.
    options = (
        f'url = "{_quoted(url)}/models"',
        f'header = "Authorization: Bearer {_quoted(key)}"',
        f'output = "{_quoted(os.devnull)}"',
        'write-out = "status %{http_code}"',
        f"max-time = {timeout:g}",
        *("silent", "globoff", "show-error", ""),
    )
    return "\n".join(options)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _run(command: list[str], given: str, limit: float) -> tuple[str, str]:
    """Return what a program printed on its two outputs; never raise an error."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Its children are stopped together with it.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return "", str(error)
    with process:
        try:
            out, err = process.communicate(given.encode("utf-8", "replace"), limit)
        except subprocess.TimeoutExpired:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            return "", say("no_end", limit=f"{limit:g}")
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _source(name: str) -> str:
    # Also works inside a zipapp.
    return (pkgutil.get_data(_PACKAGE, f"scripts/{name}") or b"").decode()
