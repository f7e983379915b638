"""Child processes: how they are forked, what they inherit, and how they end."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from readback import logs

# The exit code of a child that could not start and has said why.
CANNOT_START = 3
# The parent handles these signals. They stay blocked in a child until it has replaced
# its parent's handlers.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


def fork(run: Callable[[], object]) -> int:
    """Run a function in a child process; return its process id."""
    # Otherwise both processes would write what is still in the buffers.
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # A child would lose a signal that arrives while it has its parent's handlers.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        child = os.fork()
        if child == 0:
            _run_child(run, parent)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def stop_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _run_child(run: Callable[[], object], parent: int) -> NoReturn:
    """Run the function and exit without ever returning into the parent's code."""
    code: Any = CANNOT_START
    try:
        # A terminal and GNU timeout signal a whole process group. In its own group, a
        # child only receives what its parent passes on.
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        # Scripts parse standard output, so only the parent writes to it.
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        stop_with_parent()
        if os.getppid() == parent:  # otherwise the parent has already ended
            run()
        code = 0
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stderr.flush()
            logs.flush()
        os._exit(code if isinstance(code, int) else CANNOT_START)
