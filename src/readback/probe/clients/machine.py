"""What other programs read on this machine: variables, and files in two folders."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True)
class Machine:
    """The settings that programs started in the current folder would find."""

    variables: Mapping[str, str]
    home: Path
    folder: Path

    @classmethod
    def here(cls) -> Machine:
        variables = dict(os.environ)
        home = variables.get("HOME") or variables.get("USERPROFILE") or os.curdir
        return cls(variables, Path(home), Path(os.curdir))

    def first(self, *names: str) -> tuple[str, str]:
        """Return the first of these variables that is not empty, and its value."""
        found = ((name, self.variables.get(name, "")) for name in names)
        return next((pair for pair in found if pair[1]), ("", ""))

    def words(self, name: str) -> list[str]:
        """Return the words of a variable that holds command-line options."""
        value = self.variables.get(name, "")
        try:
            return shlex.split(value)
        except ValueError:  # an unclosed quotation mark
            return value.split()

    def java_property(self, name: str) -> str:
        """Return a system property that the environment sets for every Java."""
        value = ""
        # The last one wins, as tried with Java 17.
        for variable in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"):
            for word in self.words(variable):
                if word.startswith(f"-D{name}="):
                    value = word.partition("=")[2]
        return value


def read_file(path: Path) -> str | None:
    """Return the beginning of a text file, or None if it cannot be read."""
    try:
        # A named pipe would block.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
