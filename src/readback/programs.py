"""The client programs that we know: how to recognise one, and what to set in it.

The facts are in `programs.toml`. A program is recognised by its User-Agent, or not at
all: many programs share that of a library, and then only the library is named. Nothing
here knows about HTTP, databases or pages.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

from readback.contract import MAX_TOKENS, VERSION_PREFIX
from readback.differences import BASE_URL, advice

_TABLE = Path(__file__).with_suffix(".toml")
_CONTRACT = {"MAX_TOKENS": MAX_TOKENS, "VERSION_PREFIX": VERSION_PREFIX}
# In `cannot`: every difference of a body.
_EVERY = "*"
_CONNECTED = ", but this answer shows that its address and its key are right"
# The answer to a wrong path proves no key: it is sent before the key is looked at.
_NOT_CONNECTED = "; test its key, its address and the network with curl or the probe"
_INSTRUCTION_LENGTH = 350


class Program(NamedTuple):
    """One row of the table."""

    name: str
    complies: Literal["out of the box", "with settings", "never"]
    checked: Literal["run", "read"]
    version: str
    # None if its requests do not tell which program has sent them.
    user_agent: re.Pattern[str] | None = None
    # The differences that no setting removes.
    cannot: frozenset[str] = frozenset()
    switches: Mapping[str, str] = {}
    # What to set, in Markdown; empty if nothing.
    setup: str = ""
    # Whether other programs have the same User-Agent, because they are built on this.
    library: bool = False

    def cannot_remove(self, difference: str) -> bool:
        if difference in self.switches:
            return False
        every = _EVERY in self.cannot and difference != BASE_URL
        return every or difference in self.cannot

    def switch(self, difference: str) -> str:
        """Return what removes a difference; empty if that is not known."""
        text = self.switches.get(difference, "")
        # Of a library, which a program may hide, only what says more than the advice
        # for every program.
        is_general = text.startswith(f"leave {difference} unset")
        return "" if self.library and is_general else text

    def hint(self, differences: Sequence[str], *, connected: bool) -> str:
        """Return what to set in this program, or that no setting helps.

        A request that is connected has proved that its address and its key are right.
        """
        if any(map(self.cannot_remove, differences)):
            rest = _CONNECTED if connected else _NOT_CONNECTED
            return f"{self.name} cannot be made to comply{rest}."
        told: list[str] = []
        room = _INSTRUCTION_LENGTH
        for text in filter(None, map(self.switch, differences)):
            if text not in told and len(text) <= room:
                told.append(text)
                room -= len(f"{text} and ")
        return f"{self.name}: {' and '.join(told)}." if told else ""


@cache
def table() -> tuple[Program, ...]:
    """Return the rows of the file; a name that is missing or unknown is an error."""
    rows = []
    for row in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["program"]:
        switches = row.get("switches", {})
        parsed: dict[str, Any] = {
            "cannot": frozenset(row.get("cannot", ())),
            "switches": {id: _filled_in(text) for id, text in switches.items()},
            "setup": _filled_in(row.get("setup", "")),
        }
        if "user_agent" in row:
            parsed["user_agent"] = re.compile(row["user_agent"])
        rows.append(Program(**(row | parsed)))
    return tuple(rows)


def load() -> None:
    """Read the table now, which takes ten milliseconds, and not for a first request."""
    _user_agents()


def recognise(user_agent: str) -> Program | None:
    """Return the program, or the library of a program, that calls itself this."""
    found = _user_agents().search(user_agent)
    return table()[int(found.lastgroup[1:])] if found and found.lastgroup else None


@cache
def _user_agents() -> re.Pattern[str]:
    """Return one pattern for all rows; the group that matches has a row's number."""
    return re.compile(
        "|".join(
            f"(?P<n{number}>{row.user_agent.pattern})"
            for number, row in enumerate(table())
            if row.user_agent
        )
    )


def advise(user_agent: str, differences: Sequence[str], *, connected: bool) -> str:
    """Return what to change: in the program that sent a request, if it is known.

    If only a library that it uses is known, begin with the advice for every program.
    """
    general, program = advice(differences[0]), recognise(user_agent)
    special = program.hint(differences, connected=connected) if program else ""
    if program and program.library:
        return f"{general} {special}".rstrip()
    return special or general


def _filled_in(text: str) -> str:
    """Return a text with the values of the contract; a wrong name is an error."""
    return Template(text).substitute(_CONTRACT)
