"""End the processes that a test run leaves behind, and delete its folder.

A run that is killed or reaches a timeout cannot do this itself. So `made_once.py`
starts `left_behind.py PID FOLDER`, which waits until the run has ended, however it
ends. The folder is in the environment or the arguments of each process of the run.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

_POLL_SECONDS = 0.5
_ROUNDS = 50


def main(pid: int, folder: str) -> None:
    while os.getppid() == pid:
        time.sleep(_POLL_SECONDS)
    for _ in range(_ROUNDS):
        if not (left := list(_processes(folder))):
            break
        for process in left:
            with suppress(psutil.Error):
                # A suspended child does not notice that its parent has ended.
                for each in [process, *process.children(recursive=True)]:
                    each.kill()
        time.sleep(_POLL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def _processes(folder: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            texts = [*process.cmdline(), *process.environ().values()]
            if process.pid != os.getpid() and any(folder in text for text in texts):
                yield process


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
