"""The environment of every test and of the processes that it starts.

It is the same on every machine, so that settings that developers made for other
programs do not affect a test.
"""

import os
import signal
import time

import psutil

from tests.support.made_once import shared_folder

# Where programs and libraries are, and where files may be written.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
# Variables for the test run itself.
_KEPT_BEGINNINGS = ("READBACK_TEST_", "PYTEST_XDIST_")
_FIRST_PROCESS = "READBACK_TEST_PROCESS"


def make_clean() -> None:
    """Set the environment of this process, before it starts others."""
    os.environ.setdefault(_FIRST_PROCESS, str(os.getpid()))
    home = shared_folder() / "home"
    home.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
    }
    os.environ.clear()
    os.environ |= kept | {
        # A home directory without .netrc, .curlrc and so on.
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        # Ignore the proxy settings of a desktop.
        "GSETTINGS_BACKEND": "memory",
        # The clone may belong to another user.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    time.tzset()
    os.umask(0o022)
    # A shell makes programs in the background ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def before() -> dict[str, str]:
    """Return the environment in which the run was started.

    Code that installs packages needs its proxies and package index.
    """
    # The kernel keeps the environment with which a process was started.
    return psutil.Process(int(os.environ[_FIRST_PROCESS])).environ()
