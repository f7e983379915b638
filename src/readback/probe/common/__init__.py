"""What every room of the probe uses: results, formatting, calls with a time limit.

Nothing is imported here that takes time: Ctrl-C may interrupt the imports.
"""

import os
import signal

# As shells report a program that was stopped with Ctrl-C.
INTERRUPTED = 130


def stop_with_one_line() -> None:
    """Let Ctrl-C end the process with a line from now on, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: object) -> None:
    # Not by an exception, which would end in the middle of an import.
    os.write(2, b"Stopped.\n")
    os._exit(INTERRUPTED)
