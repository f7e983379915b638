"""The client programs that we know: how to recognise one, and what to set in it.

The facts are in `programs.toml`. A program is recognised by its User-Agent and, where
many programs share a library and so its User-Agent, by the differences that its
requests always have. Nothing here knows about HTTP, databases or pages.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from readback.contract import MAX_TOKENS, MODEL, VERSION_PREFIX
from readback.differences import BASE_URL

_TABLE = Path(__file__).with_suffix(".toml")
_CONTRACT = {
    "MAX_TOKENS": MAX_TOKENS,
    "MODEL": MODEL,
    "VERSION_PREFIX": VERSION_PREFIX,
}
# In `cannot`: every difference of a body.
_EVERY = "*"
_CONNECTED = ", but this answer shows that its address and its key are right"
# The answer to a wrong path proves no key: it is sent before the key is looked at.
_NOT_CONNECTED = "; test its key, its address and the network with curl or the probe"
# How many programs an advice names if the request does not tell which one sent it.
_NAMED = 3
_INSTRUCTION_LENGTH = 350
# A program that has at least this many differences is told from the others that use the
# same library.
_TELLING = 3


class Program(NamedTuple):
    """One row of the table."""

    name: str
    user_agent: re.Pattern[str]
    complies: Literal["out of the box", "with settings", "never"]
    checked: Literal["run", "read"]
    version: str
    # The differences that its requests always have; empty if the User-Agent is enough.
    sends: frozenset[str]
    # Differences that its requests have by default, but those of many others, too.
    unless_set: frozenset[str]
    # Those that no setting removes.
    cannot: frozenset[str]
    switches: Mapping[str, str]
    # What to set, in Markdown; empty if nothing.
    setup: str
    # Whether other programs have the same User-Agent, because they are built on this.
    library: bool = False
    # Whether its requests have no other difference, as those of a connection test.
    nothing_else: bool = False

    def cannot_remove(self, difference: str) -> bool:
        if difference in self.switches:
            return False
        every = _EVERY in self.cannot and difference != BASE_URL
        return every or difference in self.cannot


class Switch(NamedTuple):
    """What removes a difference in one program."""

    program: str
    text: str


class RecognisedProgram(NamedTuple):
    """The programs that may have sent a request, because it looks like theirs."""

    # Those that fit best. Several have requests that are alike.
    best: tuple[Program, ...]
    # Those that the User-Agent allows, too.
    others: tuple[Program, ...]
    # Whether the User-Agent is that of one program alone.
    alone: bool

    @property
    def name(self) -> str:
        return names(self.best)

    @property
    def certain(self) -> bool:
        """Whether the name is certain: that of a program, or of the library it uses."""
        return not self.best[0].sends

    def switches(self, difference: str) -> list[Switch]:
        """Return what removes a difference in these programs, the likeliest first."""
        rows = (*self.best, *self.others)
        found = [Switch(row.name, row.switches.get(difference, "")) for row in rows]
        # A guess must say more than the advice for every program.
        general = f"leave {difference} unset"
        told = [
            each
            for each in found
            if each.text and (self.alone or not each.text.startswith(general))
        ]
        return told[:_NAMED]

    def cannot_remove(self, difference: str) -> list[Program]:
        """Return those of the likeliest programs that have no setting for this."""
        return [row for row in self.best if row.cannot_remove(difference)]

    def hint(self, differences: Collection[str], *, connected: bool) -> str:
        """Return what to set in these programs, or that no setting helps.

        A request that is connected has proved that its address and its key are right.
        """
        rest = _CONNECTED if connected else _NOT_CONNECTED
        sentences = [
            f"{row.name if self.alone else f'If you use {row.name}, it'} cannot be "
            f"made to comply{rest}."
            for row in self._hopeless(differences)
        ]
        return " ".join(filter(None, (*sentences, self._instruction(differences))))

    def _instruction(self, differences: Collection[str]) -> str:
        """Return what to set, as a sentence; empty if that is not known."""
        told: dict[str, list[str]] = {}
        room = _INSTRUCTION_LENGTH
        for program, text in self._all_switches(differences):
            texts, size = told.get(program, []), len(f"{program}: {text}; ")
            may_be_named = texts or len(told) < _NAMED
            if size <= room and text not in texts and may_be_named:
                told[program] = [*texts, text]
                room -= size
        if not told:
            return ""
        named = "; ".join(
            f"{name}: {' and '.join(texts)}" for name, texts in told.items()
        )
        return f"{named}." if self.alone else f"If you use {named}."

    def _all_switches(self, differences: Collection[str]) -> Iterator[Switch]:
        """Yield everything to set in the likeliest programs, and one thing in others.

        The likeliest are told everything at once, so that they need one attempt.
        """
        hopeless = {row.name for row in self._hopeless(differences)}
        likeliest = {row.name for row in self.best if self.alone or row.sends}
        others: list[Switch] = []
        for difference in differences:
            switches = self.switches(difference)
            yield from (
                each for each in switches if each.program in likeliest - hopeless
            )
            rest = (each for each in switches if each.program not in likeliest)
            others = others or list(rest)
        yield from others

    def _hopeless(self, differences: Collection[str]) -> list[Program]:
        return [row for row in self.best if any(map(row.cannot_remove, differences))]


def names(rows: Iterable[Program]) -> str:
    """Return the names of programs in a form that needs no translation."""
    return " / ".join(row.name for row in rows)


@cache
def table() -> tuple[Program, ...]:
    """Return the rows of the file; a name that is missing or unknown is an error."""
    rows = []
    for row in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["program"]:
        switches = row.get("switches", {})
        parsed = {
            "user_agent": re.compile(row["user_agent"]),
            "sends": frozenset(row.get("sends", ())),
            "unless_set": frozenset(row.get("unless_set", ())),
            "cannot": frozenset(row.get("cannot", ())),
            "switches": {id: _filled_in(text) for id, text in switches.items()},
            "setup": _filled_in(row.get("setup", "")),
        }
        rows.append(Program(**(row | parsed)))
    return tuple(rows)


def recognise(
    user_agent: str, differences: Collection[str] = ()
) -> RecognisedProgram | None:
    """Return the programs whose requests have these differences, or None."""
    found = set(differences)
    matching = [row for row in table() if row.user_agent.search(user_agent)]
    fitting = [
        row
        for row in matching
        if (row.sends == found if row.nothing_else else row.sends <= found)
    ]
    if not fitting:
        return None
    most = max(len(row.sends) for row in fitting)
    best = [row for row in fitting if len(row.sends) == most]
    if not most:
        # The library, which is the first in the table; the others are built on it.
        best = best[:1]
    # The others that may have sent this, the likeliest first.
    rest = [row for row in matching if row not in best and most < _TELLING]
    by_default = [row for row in rest if row.unless_set & found]
    others = [row for row in rest if not (row.sends or row.unless_set & found)]
    return RecognisedProgram(
        best=tuple(best),
        others=(*by_default, *others),
        alone=len(matching) == 1 and not (most or best[0].library),
    )


def _filled_in(text: str) -> str:
    """Return a text with the values of the contract; a wrong name is an error."""
    return Template(text).substitute(_CONTRACT)
