"""A program that runs the server for as long as a process of the test run exists.

pytest cannot stop the server itself if it is killed. Every process of the run holds a
shared lock on the file USERS, and this program waits until it gets an exclusive one.
It imports only the standard library, to start fast.
"""

import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

USERS, KEEPER, READY = "users", "keeper", "ready.json"
_SERVE = [sys.executable, "-P", "-m", "readback", "serve", "--ephemeral", "--json"]


def main(folder: Path) -> None:
    """Run the server, unless another process of the run has started a keeper."""
    with (folder / KEEPER).open("a") as only_one:
        try:
            fcntl.flock(only_one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with (
            tempfile.TemporaryFile("w+") as errors,
            (folder / USERS).open() as users,
            subprocess.Popen(
                _SERVE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            ) as server,
        ):
            assert server.stdout
            ready = server.stdout.readline().decode()
            if not ready:
                errors.seek(0)
                reason = errors.read().strip().removeprefix("Error: ")
                ready = json.dumps({"error": reason})
            # At once, so that no reader finds a part of it.
            unfinished = folder / f"{READY}.new"
            unfinished.write_text(ready)
            unfinished.rename(folder / READY)
            fcntl.flock(users, fcntl.LOCK_EX)
            server.terminate()
            server.wait()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
