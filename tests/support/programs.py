"""Programs of the machine that a test may need: found, or the test is skipped."""

import os
import shutil

import pytest


def needed_program(name: str) -> str:
    """Return the path of a program, or skip the test.

    Debian puts servers in a folder that is not on the path of every user.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not found:
        pytest.skip(f"needs the program {name}")
    return found
