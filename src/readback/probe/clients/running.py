"""The step "programs run": asks the same through the programs of this machine.

The key is sent only if the probe's own request with it was accepted; otherwise the
programs are asked with a word that is not a key, to see whether they get a response.

Each runs in a process of its own with a deadline. Most run a small program in scripts/,
which reads four lines from standard input (the base URL, the key, a timeout in seconds,
the body of a chat request or nothing) and prints lines that begin with `version`,
`models` and a status, `chat` and a status and the body in Base64, or `error`. A key is
never on a command line, because other users of a machine can see those.
"""

from __future__ import annotations

import base64
import json
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from readback.contract import MODEL, ROLE
from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.service.answers import inside
from readback.probe.service.echo import MARKS
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import parse_json

_NO_KEY = "no-key"
_PACKAGE = "readback.probe.clients"
_START_SECONDS = 20.0
_PACKAGES = ("requests", "httpx", "openai")


def check(context: ProbeContext) -> Diagnosis:
    accepted, key = "models" in vars(context), context.usable_key
    # Only Readback lists this model, so nothing that costs money is sent.
    is_readback = accepted and MODEL.encode() in context.models.body
    chat = {"model": MODEL, "messages": [{"role": ROLE, "content": MARKS}]}
    request = ClientRequest(
        str(context.base_url),
        key.reveal() if accepted and key else _NO_KEY,
        context.timeout,
        json.dumps(chat) if is_readback else "",
    )
    started = []
    with suppress(ProbeError):  # The budget for requests is used up.
        for program in find_programs():
            for _ in range(2 if request.body else 1):
                context.budget.spend()
            started.append((program, BackgroundCall(partial(program.send, request))))
    answers = {program.name: call.result() for program, call in started}
    if not answers:
        return diagnose("run.none")
    outcomes = {name: _outcome(answer) for name, answer in answers.items()}
    if request.key != _NO_KEY:
        facts = {"models": 200, "chat": 200, "text": say("the_same_text")}
        echoed = say("status_and_text", **facts)
        plain = say("with_status", status=200)
        outcomes[say("this_probe")] = echoed if request.body else plain
    diagnosis = _compare(outcomes)
    programs: dict[str, Fact] = {
        name: {
            "version": answer.version,
            "outcome": outcomes[name],
            "error": answer.error,
        }
        for name, answer in answers.items()
    }
    lines = (
        f"{name} {answer.version}: {outcomes[name]}"
        + (f": {answer.error}" if answer.error else "")
        for name, answer in answers.items()
    )
    known = {**diagnosis.facts, "programs": programs}
    return replace(diagnosis, details=tuple(lines), facts=known)


def _outcome(answer: ProgramAnswer) -> str:
    if not answer.models:
        return say("no_response")
    if not answer.chat:
        return say("with_status", status=answer.models)
    text = inside(answer.content, "choices", 0, "message", "content")
    same = say("the_same_text") if text == MARKS else say("another_text")
    facts = {"models": answer.models, "chat": answer.chat, "text": same}
    return say("status_and_text", **facts)


def _compare(outcomes: dict[str, str]) -> Diagnosis:
    groups: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        groups.setdefault(outcome, []).append(name)
    if set(groups) == {say("no_response")}:
        return diagnose("run.none")
    if len(groups) == 1:
        return diagnose("run.same", outcome=next(iter(groups)))
    said = (f"{', '.join(names)}: {outcome}" for outcome, names in groups.items())
    return diagnose("run.differs", outcomes="; ".join(said))


@dataclass(frozen=True)
class ClientRequest:
    base_url: str
    key: str
    timeout: float
    body: str = ""
    """The body of a chat request, as one line of JSON; empty for none."""
    start_seconds: float = _START_SECONDS
    """How long a program may take beside its two requests."""


@dataclass(frozen=True)
class ProgramAnswer:
    version: str = ""
    models: int = 0
    """The status of the response, 0 if there was none."""
    chat: int = 0
    content: object = None
    """The body of the response to the chat request, if it was JSON."""
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


def _send_with_file(script: str, program: str, request: ClientRequest) -> ProgramAnswer:
    """Let a program run a script from a temporary file, which contains no secret."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / script
        path.write_text(_source(script), encoding="utf-8")
        return _send_with_command([program, str(path)], request)


def _send_with_curl(curl: str, request: ClientRequest) -> ProgramAnswer:
    version, _ = _run([curl, "--version"], "", _START_SECONDS)
    config = _curl_config(request)
    printed, complaint = _communicate([curl, "--config", "-"], request, config)
    models = re.match(r"models (\d+)\n", printed)
    status = int(models[1]) if models else 0
    chat = re.search(r"\nchat (\d+)\n\Z", printed)
    content = printed[models.end() : chat.start()] if models and chat else ""
    error = "" if status else re.sub(r"^curl: ", "", complaint)
    return ProgramAnswer(
        sanitize((version.split() + ["", ""])[1]),
        status,
        int(chat[1]) if chat else 0,
        parse_json(content.encode()),
        sanitize(error),
    )


_BINARIES: dict[str, Callable[[str, ClientRequest], ProgramAnswer]] = {
    "curl": _send_with_curl,
    "node": partial(_send_with_file, "ask.mjs"),
}


def _curl_config(request: ClientRequest) -> str:
    """Return the options for one or two requests; curl reads them as a file."""
    common = [
        "silent",
        "globoff",
        "show-error",
        f"max-time = {request.timeout:g}",
        f'header = "Authorization: Bearer {_quoted(request.key)}"',
    ]
    lines = [
        f'url = "{_quoted(request.base_url)}/models"',
        f'output = "{_quoted(os.devnull)}"',
        'write-out = "models %{http_code}\\n"',
        *common,
    ]
    if request.body:
        lines += [
            "next",
            f'url = "{_quoted(request.base_url)}/chat/completions"',
            'header = "Content-Type: application/json"',
            f'data-binary = "{_quoted(request.body)}"',
            'write-out = "\\nchat %{http_code}\\n"',
            *common,
        ]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _send_with_command(
    command: list[str], request: ClientRequest, version: str = ""
) -> ProgramAnswer:
    lines = (request.base_url, request.key, f"{request.timeout:g}", request.body, "")
    printed, complaint = _communicate(command, request, "\n".join(lines))
    found: dict[str, str] = {}
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        found[name] = rest
    chat, _, content = found.get("chat", "").partition(" ")
    models = _status(found.get("models", ""))
    error = found.get("error", "")
    if not models and not error:
        error = complaint.strip().rpartition("\n")[2] or say("it_printed_nothing")
    try:
        body = base64.b64decode(content)
    except ValueError:
        body = b""
    return ProgramAnswer(
        sanitize(version or found.get("version", "")),
        models,
        _status(chat),
        parse_json(body),
        sanitize(error),
    )


def _status(text: str) -> int:
    return int(text) if re.fullmatch("[1-5][0-9]{2}", text) else 0


def _communicate(
    command: list[str], request: ClientRequest, given: str
) -> tuple[str, str]:
    """Let a program send the request; return what it printed, without the key."""
    limit = 2 * request.timeout + request.start_seconds
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
