"""The step "programs run": asks for the models with the programs of this machine.

The key is sent only if the probe's own request with it was accepted; otherwise the
programs are asked with a word that is not a key, to see whether they get a response.

Each runs in a process of its own with a deadline. Most run a small program in scripts/,
which reads three lines from standard input (the base URL, the key, a timeout in
seconds) and prints lines that begin with `version`, `status` or `error`. A key is never
on a command line, because other users of a machine can see those.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.transport.context import ProbeContext

_NO_KEY = "no-key"
_PACKAGE = "readback.probe.clients"
_START_SECONDS = 20.0
_PACKAGES = ("requests", "httpx", "openai")


def check(context: ProbeContext) -> Diagnosis:
    accepted, key = "models" in vars(context), context.usable_key
    is_key_sent = accepted and key is not None
    request = ClientRequest(
        str(context.base_url),
        key.reveal() if is_key_sent and key else _NO_KEY,
        context.timeout,
    )
    started = []
    with suppress(ProbeError):  # The budget for requests is used up.
        for program in find_programs():
            context.budget.spend()
            started.append((program, BackgroundCall(partial(program.send, request))))
    answers = {program.name: call.result() for program, call in started}
    groups: dict[str, list[str]] = {}
    for name, answer in answers.items():
        groups.setdefault(_outcome(answer.status), []).append(name)
    programs: dict[str, Fact] = {
        name: {
            "version": answer.version,
            "outcome": _outcome(answer.status),
            "error": answer.error,
        }
        for name, answer in answers.items()
    }
    lines = (
        f"{name} {answer.version}: {_outcome(answer.status)}"
        + (f": {answer.error}" if answer.error else "")
        for name, answer in answers.items()
    )
    facts: dict[str, Fact] = {"programs": programs}
    if not any(one.status for one in answers.values()):
        diagnosis = diagnose("run.none", figure="", **facts)
    else:
        if is_key_sent:
            own = _outcome(context.models.status)
            groups.setdefault(own, []).append(say("this_program"))
        said = (f"{', '.join(names)}: {outcome}" for outcome, names in groups.items())
        facts |= {"outcome": next(iter(groups)), "outcomes": "; ".join(said)}
        id = "run.same" if len(groups) == 1 else "run.differs"
        diagnosis = diagnose(id, figure="", **facts)
    return replace(diagnosis, details=tuple(lines))


def _outcome(status: int) -> str:
    return say("with_status", status=status) if status else say("no_response")


@dataclass(frozen=True)
class ClientRequest:
    base_url: str
    key: str
    timeout: float
    start_seconds: float = _START_SECONDS
    """How long a program may take beside its request."""


@dataclass(frozen=True)
class ProgramAnswer:
    version: str = ""
    status: int = 0
    """The status of the response, 0 if there was none."""
    error: str = ""


class InstalledProgram(NamedTuple):
    name: str
    send: Callable[[ClientRequest], ProgramAnswer]


def find_programs() -> list[InstalledProgram]:
    """Return the programs that are installed, each once."""
    programs = {
        name: InstalledProgram(name, partial(send, path))
        for name, send in _BINARIES.items()
        if (path := shutil.which(name))
    }
    # One for each package, with the first Python that has it.
    names = ("python3", "python", sys.executable or "")
    found = filter(None, map(shutil.which, names))
    # Several names of one program in one folder have the same packages.
    paths = {(os.path.dirname(path), os.path.realpath(path)): path for path in found}
    calls = [
        (path, BackgroundCall(partial(_packages, path))) for path in paths.values()
    ]
    for path, call in calls:
        for package, version in call.result().items():
            command = [path, "-c", _source("ask.py"), package]
            send = partial(_send_with_command, command, version=version)
            programs.setdefault(package, InstalledProgram(f"Python {package}", send))
    return list(programs.values())


def _packages(python: str) -> dict[str, str]:
    """Return the versions of the packages that this Python has."""
    printed, _ = _run([python, "-c", _source("ask.py")], "", _START_SECONDS)
    found = (line.split() for line in printed.splitlines())
    return {
        words[1]: words[2]
        for words in found
        if len(words) == 3 and words[0] == "has" and words[1] in _PACKAGES
    }


def _send_with_node(node: str, request: ClientRequest) -> ProgramAnswer:
    command = [node, "--input-type=module", "-e", _source("ask.mjs")]
    return _send_with_command(command, request)


def _send_with_curl(curl: str, request: ClientRequest) -> ProgramAnswer:
    version, _ = _run([curl, "--version"], "", _START_SECONDS)
    # curl reads its options from standard input as if it were a file.
    options = (
        f'url = "{_quoted(request.base_url)}/models"',
        f'header = "Authorization: Bearer {_quoted(request.key)}"',
        f'output = "{_quoted(os.devnull)}"',
        'write-out = "%{http_code}"',
        f"max-time = {request.timeout:g}",
        *("silent", "globoff", "show-error", ""),
    )
    command = [curl, "--config", "-"]
    printed, complaint = _communicate(command, request, "\n".join(options))
    status = _status(printed.strip())
    error = "" if status else complaint.removeprefix("curl: ")
    number = (version.split() + ["", ""])[1]
    return ProgramAnswer(sanitize(number), status, sanitize(error))


_BINARIES: dict[str, Callable[[str, ClientRequest], ProgramAnswer]] = {
    "curl": _send_with_curl,
    "node": _send_with_node,
}


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _send_with_command(
    command: list[str], request: ClientRequest, version: str = ""
) -> ProgramAnswer:
    lines = (request.base_url, request.key, f"{request.timeout:g}", "")
    printed, complaint = _communicate(command, request, "\n".join(lines))
    found: dict[str, str] = {}
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        found[name] = rest
    status, error = _status(found.get("status", "")), found.get("error", "")
    if not status and not error:
        error = complaint.strip().rpartition("\n")[2] or say("it_printed_nothing")
    number = version or found.get("version", "")
    return ProgramAnswer(sanitize(number), status, sanitize(error))


def _status(text: str) -> int:
    return int(text) if re.fullmatch("[1-5][0-9]{2}", text) else 0


def _communicate(
    command: list[str], request: ClientRequest, given: str
) -> tuple[str, str]:
    """Let a program send the request; return what it printed, without the key."""
    limit = request.timeout + request.start_seconds
    printed, complaint = _run(command, given, limit)
    key, mask = request.key, "[key]"
    return printed.replace(key, mask), complaint.replace(key, mask)


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
    try:
        out, err = process.communicate(given.encode("utf-8", "replace"), limit)
    except subprocess.TimeoutExpired:
        return "", say("no_end", limit=f"{limit:g}")
    finally:
        if process.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _source(name: str) -> str:
    # Also works inside a zipapp.
    return (pkgutil.get_data(_PACKAGE, f"scripts/{name}") or b"").decode()
