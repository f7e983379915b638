"""The process of the server: one for each process of a test run."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from readback.pytest_plugin.server import JournalDatabase, Marker, ReadbackServer

_PR_SET_PDEATHSIG = 1
# -P keeps the folder of the project off the path.
_SERVE = [sys.executable, "-P", "-m", "readback", "serve", "--ephemeral", "--json"]
# With one worker, requests are written in the order in which they arrived; without an
# interval, all of them twice a second.
_OURS = {"READBACK_WORKERS": "1", "READBACK_JOURNAL_INTERVAL": "0"}


class ServerFailed(Exception):
    """The server did not start; the text says why."""


@contextmanager
def running(settings: Mapping[str, str]) -> Iterator[ReadbackServer]:
    """Run a server until this block or this process ends."""
    # Settings of the tested project may belong to another server, and so may Django's.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("READBACK_") and name != "DJANGO_SETTINGS_MODULE"
    }
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            _SERVE,
            env={**inherited, **settings, **_OURS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # So that Ctrl-C reaches only pytest.
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 – it takes no lock
        ) as process,
    ):
        try:
            assert process.stdout
            ready = process.stdout.readline()
            if not ready:
                errors.seek(0)
                reason = errors.read().strip().removeprefix("Error: ")
                raise ServerFailed(f"Readback did not start: {reason}")
            yield _server(**json.loads(ready))
        finally:
            process.terminate()


def _server(
    *, base_url: str, api_key: str, cabinet_url: str, data_dir: str, **_: object
) -> ReadbackServer:
    database = JournalDatabase(Path(data_dir))
    marker = Marker(database.create_key(api_key))
    return ReadbackServer(base_url, api_key, cabinet_url, database, marker)


def _end_with_parent() -> None:
    """Have the kernel stop the server when this process exits, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
