"""Where the key comes from: a file, the environment, or a prompt that hides it.

The text is taken as it is; the step "key" reports what is wrong with it.
"""

from __future__ import annotations

import os
import sys
from getpass import getpass

# Many times as long as any key; a device such as /dev/zero has no end.
_MAX_BYTES = 65_536


def from_file(name: str) -> str:
    """Return the key in this file, or from standard input if the name is "-"."""
    if name != "-":
        with open(name, "rb") as file:
            return _text(file.read(_MAX_BYTES))
    return _text(sys.stdin.buffer.read(_MAX_BYTES)) if sys.stdin else ""


def from_environment_or_prompt(variable: str) -> str:
    """Return the key from this variable, from a person, or "" if there is neither."""
    if variable in os.environ or not (sys.stdin and sys.stdin.isatty()):
        return os.environ.get(variable, "")
    try:
        return getpass("Key (hidden): ", sys.stderr)
    except UnicodeDecodeError as error:
        return _text(error.object)


def _text(data: bytes) -> str:
    # A text file ends with a newline; other whitespace is a mistake to report.
    text = data.decode("utf-8", "replace")
    return text.removesuffix("\n").removesuffix("\r")
