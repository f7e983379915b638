"""Whether a `.netrc` file would replace the Authorization header of a request.

Of the programs tried, only requests does this; curl needs an option for it.
"""

from __future__ import annotations

import netrc
import os
from pathlib import Path

from readback.probe.clients.machine import Machine, read_file

_NAMES = (".netrc", "_netrc")


def replacing_file(host: str, machine: Machine) -> Path | None:
    """Return the file that has a login for this host, or None."""
    path = _file(machine)
    if path is None or read_file(path) is None:
        return None
    try:
        login = netrc.netrc(str(path)).authenticators(host)
    except (netrc.NetrcParseError, OSError, ValueError):
        return None
    return path if login and any(login) else None


def _file(machine: Machine) -> Path | None:
    named = machine.variables.get("NETRC")
    if named is not None:
        rest = named.removeprefix("~/")
        return machine.home / rest if rest != named else Path(named)
    paths = (machine.home / name for name in _NAMES)
    return next((path for path in paths if os.path.isfile(path)), None)
