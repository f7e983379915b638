"""Files that are expensive to make, and that all processes of a test run share.

The first process that needs such files makes them, while the others wait. When the run
ends, `left_behind.py` deletes the folder.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_FOLDER = "READBACK_TEST_SHARED"
# Kept, because Python warns if a process object is deleted before the process ends.
_cleaners: list[subprocess.Popen[bytes]] = []


def shared_folder() -> Path:
    """Return this run's folder, and create it first if there is none.

    The first process calls this before it starts others, which inherit the name.
    """
    if _FOLDER not in os.environ:
        os.environ[_FOLDER] = folder = tempfile.mkdtemp(prefix="readback-tests-")
        # PostgreSQL runs as another user if the tests run as root.
        os.chmod(folder, 0o755)
        cleaner = Path(__file__).with_name("left_behind.py")
        _cleaners.append(
            subprocess.Popen(
                [sys.executable, cleaner, str(os.getpid()), folder],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C must not end the cleaner.
                start_new_session=True,
            )
        )
    return Path(os.environ[_FOLDER])


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of this name that `make` has filled, in this process or another.

    If `make` raises, the next caller tries again with an empty folder.
    """
    place = shared_folder() / name
    done = shared_folder() / f"{name}.done"
    with (shared_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            done.touch()
    return place
