"""The server that all processes of a test run share.

The first process that needs it starts the keeper (`keeper.py`), which starts the
server. Every process of the run holds a shared lock on one file; when the kernel has
released all of these locks, however the processes ended, the keeper stops the server.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from readback.pytest_plugin import keeper

if TYPE_CHECKING:
    from readback.pytest_plugin.server import ReadbackServer

# Longer than the server's own limits, which end with a sentence.
_START_SECONDS = 90
_STOP_SECONDS = 60
_POLL_SECONDS = 0.01


class ServerFailed(Exception):
    """The server did not start; the text says why."""


class SharedServer:
    """The server of a run, as one of its processes sees it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        self._users = (folder / keeper.USERS).open("w")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        self._ready = folder / keeper.READY
        self._keeper: subprocess.Popen[bytes] | None = None

    def server(self, settings: Mapping[str, str]) -> "ReadbackServer":
        """Return the server with a new key; start it unless it is running."""
        # Here, because the process that controls the workers never needs them.
        from readback.pytest_plugin.server import (
            JournalDatabase,
            Marker,
            ReadbackServer,
        )

        if not self._ready.exists():
            self._start_keeper(settings)
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready.exists():
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"Readback was not ready within {_START_SECONDS} seconds."
                )
            time.sleep(_POLL_SECONDS)
        ready = json.loads(self._ready.read_text())
        if "error" in ready:
            raise ServerFailed(f"Readback did not start: {ready['error']}")
        database, key = JournalDatabase(Path(ready["data_dir"])), ready["api_key"]
        # Keys of this process: another one must not see what arrives with them.
        own, marker = database.create_key(key), Marker(database.create_key(key))
        return ReadbackServer(
            ready["base_url"], own, ready["cabinet_url"], database, marker
        )

    def leave(self, *, is_last: bool) -> None:
        """Let the keeper stop the server; the last process waits until it has."""
        with (self._folder / keeper.KEEPER).open("a") as running:
            self._users.close()
            deadline = time.monotonic() + _STOP_SECONDS
            while is_last and time.monotonic() < deadline:
                try:
                    fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_POLL_SECONDS)
        if is_last:
            if self._keeper:
                self._keeper.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start_keeper(self, settings: Mapping[str, str]) -> None:
        # Those of the tested project may be about another server, and so may Django's.
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("READBACK_") and name != "DJANGO_SETTINGS_MODULE"
        }
        # With one worker, requests are written in the order in which they arrived;
        # without an interval, all of them twice a second.
        ours = {"READBACK_WORKERS": "1", "READBACK_JOURNAL_INTERVAL": "0"}
        # As a program: importing the package would import pytest. In a session of its
        # own, so that Ctrl-C reaches only pytest. -P: nothing of the project's folder.
        self._keeper = subprocess.Popen(
            [sys.executable, "-P", keeper.__file__, str(self._folder)],
            env={**inherited, **settings, **ours},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
