"""The client programs that we know: how to recognise one, and what to set in it.

The facts are in `programs.toml`. A program is recognised by its User-Agent and, where
many programs share a library and so its User-Agent, by the differences that its
requests always have. Nothing here knows about HTTP, databases or pages.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from readback.contract import MAX_TOKENS, MODEL, VERSION_PREFIX

_TABLE = Path(__file__).with_suffix(".toml")
_CONTRACT = {
    "MAX_TOKENS": MAX_TOKENS,
    "MODEL": MODEL,
    "VERSION_PREFIX": VERSION_PREFIX,
}
# In `cannot`: every difference.
_EVERY = "*"
_CANNOT_COMPLY = (
    "cannot be made to comply, but this answer shows that its address and its key are "
    "right."
)


class Program(NamedTuple):
    """One row of the table."""

    name: str
    user_agent: re.Pattern[str]
    # The differences that its requests always have; empty if the User-Agent is enough.
    sends: frozenset[str]
    # Whether its requests have no other difference, as those of a connection test.
    nothing_else: bool
    complies: Literal["as it comes", "with settings", "never"]
    # What to set, in Markdown; empty if nothing.
    setup: str
    checked: Literal["run", "read"]
    version: str
    cannot: frozenset[str]
    switches: Mapping[str, str]


class RecognisedProgram(NamedTuple):
    """A program, and whether it is certainly the one that sent the request."""

    program: Program
    certain: bool

    @property
    def name(self) -> str:
        return self.program.name

    def switch(self, difference: str) -> str:
        """Return what removes a difference in this program; empty if not known."""
        return self.program.switches.get(difference, "")

    def instruction(self, difference: str) -> str:
        """Return the switch with the name of the program, as a sentence."""
        name = self.name if self.certain else f"If you use {self.name}"
        switch = self.switch(difference)
        return f"{name}: {switch}." if switch else ""

    @property
    def cannot_comply(self) -> str:
        """Say that no setting of the program removes all differences."""
        subject = self.name if self.certain else f"If you use {self.name}, it"
        return f"{subject} {_CANNOT_COMPLY}"

    def cannot_remove(self, difference: str) -> bool:
        cannot = self.program.cannot
        return not self.switch(difference) and (
            difference in cannot or _EVERY in cannot
        )


@cache
def table() -> tuple[Program, ...]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["program"]
    return tuple(_program(**row) for row in rows)


def recognise(
    user_agent: str, differences: Collection[str] = ()
) -> RecognisedProgram | None:
    """Return the program whose request has these differences, or None."""
    matching = [row for row in table() if row.user_agent.search(user_agent)]
    fitting = [row for row in matching if _fits(row, set(differences))]
    if not fitting:
        return None
    best = max(fitting, key=lambda row: len(row.sends))
    return RecognisedProgram(best, certain=not best.sends)


def _fits(row: Program, differences: set[str]) -> bool:
    return row.sends == differences if row.nothing_else else row.sends <= differences


def _program(
    *,
    name: str,
    user_agent: str,
    complies: Literal["as it comes", "with settings", "never"],
    checked: Literal["run", "read"],
    version: str,
    sends: Collection[str] = (),
    nothing_else: bool = False,
    setup: str = "",
    cannot: Collection[str] = (),
    switches: Mapping[str, str] | None = None,
) -> Program:
    return Program(
        name=name,
        user_agent=re.compile(user_agent),
        sends=frozenset(sends),
        nothing_else=nothing_else,
        complies=complies,
        setup=_filled_in(setup),
        checked=checked,
        version=version,
        cannot=frozenset(cannot),
        switches={id: _filled_in(text) for id, text in (switches or {}).items()},
    )


def _filled_in(text: str) -> str:
    """Return a text with the values of the contract; a wrong name is an error."""
    return Template(text).substitute(_CONTRACT)
