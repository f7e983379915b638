"""One call of a client: run its driver, and record what arrived and what it printed."""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass

from clients.relay import Relay, Request
from readback.contract import MODEL

TEXT = "Ready to copy?"
SHOWN_LENGTH = 300

# No client may reach anything but the relay: a proxy for HTTPS that does not exist
# stops telemetry, price lists and searches for updates.
_ISOLATED = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    # Some programs use the proxy for HTTPS for everything.
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
    # Plain output in lines that are long enough.
    "COLUMNS": "300",
    "NO_COLOR": "1",
    "PYTHONWARNINGS": "ignore",
    "TERM": "dumb",
}
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "LD_LIBRARY_PATH")

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_KEY = re.compile(r"sk-echo-\w+")
# Folders of this machine, up to the part that every installation has.
_FOLDER = re.compile(r"/\S*/(?=(?:site-packages|node_modules)/)|/tmp/\S*/")
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+|localhost:\d+")
_HIDDEN = (
    (_KEY, "sk-echo-…"),
    (_ADDRESS, "127.0.0.1:8000"),
    (_FOLDER, "…/"),
)
# An exception and its text, after the frames of a traceback or without them.
_UNINDENTED = re.compile(r"^\w.*", re.M)
_EXCEPTION = re.compile(
    r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Limit|Warning|Exit|Failure)\b.*", re.M
)


@dataclass(frozen=True)
class Call:
    """What a client did for one call of its user."""

    exit_code: int | None
    """None if the call was cut off."""
    seconds: float
    shown: str
    requests: list[Request]
    differences: list[str]
    """The ids in the journal of the key, if the call was refused for its form."""

    @property
    def accepted(self) -> bool:
        return self.exit_code == 0 and any(one.status == 200 for one in self.requests)


def call(
    command: list[str],
    relay: Relay,
    base_url: str,
    key: str,
    variant: str,
    seconds: float,
) -> Call:
    """Run a driver; cut it off after this many seconds."""
    relay.take()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="readback-client-") as home:
        words = [*command, base_url, key, MODEL, variant]
        exit_code, output = _run(words, _environment(home), home, seconds)
    return Call(
        exit_code=exit_code,
        seconds=round(time.monotonic() - start, 1),
        shown=shown(output),
        requests=relay.take(),
        differences=[],
    )


def shown(output: str) -> str:
    """Return what a user reads: the last exception, or else all of the output."""
    plain = _ESCAPES.sub("", output).strip()
    _, traceback, last = plain.rpartition("Traceback (most recent call last)")
    # After the frames, which are indented; or else the last line that looks like one.
    ends = list((_UNINDENTED if traceback else _EXCEPTION).finditer(last))
    if ends:
        plain = last[ends[0 if traceback else -1].start() :]
    for pattern, shown_instead in _HIDDEN:
        plain = pattern.sub(shown_instead, plain)
    one_line = " ".join(plain.split())
    cut = len(one_line) > SHOWN_LENGTH
    return f"{one_line[:SHOWN_LENGTH]}…" if cut else one_line


def _environment(home: str) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | _ISOLATED | {"HOME": home, "XDG_CONFIG_HOME": f"{home}/.config"}


def _run(
    words: list[str], environment: Mapping[str, str], folder: str, seconds: float
) -> tuple[int | None, str]:
    """Return the exit code, or None after the time, and all output."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            words,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            exit_code = None
        finally:
            # Only the driver and what it started are in its group.
            _end_group(process)
        output.seek(0)
        return exit_code, output.read().decode("utf-8", "replace")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
