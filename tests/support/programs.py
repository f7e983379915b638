"""Programs and addresses that a test needs; it is skipped if one is missing."""

import os
import shutil
import socket

import pytest


def needed_program(name: str) -> str:
    """Return the path of a program, or skip the test.

    Debian puts servers in a folder that is not on the path of every user.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not found:
        pytest.skip(f"needs the program {name}")
    return found


def needed_address(host: str) -> str:
    """Return a loopback address, or skip the test, because IPv6 may be turned off."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, 0), family=family).close()
    except OSError:
        pytest.skip(f"this machine does not have the address {host}")
    return host
