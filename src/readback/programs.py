"""The client programs that we know: how to recognize one, and what to set in it.

The facts are in `programs.toml`. A program is recognized only by its
User-Agent. If many programs send the User-Agent of a library, only the library is
named. Nothing here knows about HTTP, databases or pages.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

from readback.contract import MAX_TOKENS, VERSION_PREFIX
from readback.differences import ADVICE, BASE_URL, advice, may_be_default

_TABLE = Path(__file__).with_suffix(".toml")
_CONTRACT = {"MAX_TOKENS": MAX_TOKENS, "VERSION_PREFIX": VERSION_PREFIX}
# In `cannot`, this means every difference except a wrong base URL.
_EVERY = "*"
_WORKS = "The network, the address and the key work: test with curl."
# The answer to a wrong path does not show that the key works: it is sent before the key
# is checked.
_UNPROVED = "Test its key, its address and the network with curl or the probe."
_MAY_BE_UNABLE = (
    "Your program or its library may do this by default; if it has no setting for this,"
    " it cannot comply."
)
# The maximum length of advice. Sentences that do not fit are only counted.
ADVICE_LENGTH = 420
_BEGINS_WITH_A_WORD = re.compile(r"[a-z]+ ")


class Program(NamedTuple):
    """One row of the table."""

    name: str
    complies: Literal["out of the box", "with settings", "never"]
    checked: Literal["run", "read"]
    version: str
    # None if its requests do not reveal which program sent them.
    user_agent: re.Pattern[str] | None = None
    # The differences that no setting removes.
    cannot: frozenset[str] = frozenset()
    # Advice for this program; the key is the general advice that it replaces.
    switches: Mapping[str, str] = {}
    # What to set, in Markdown; empty if no setting is needed.
    setup: str = ""
    # What the program prints for a refusal, and for an explained one if that differs.
    prints: str = ""
    explained: str = ""
    # Whether programs that are built on this library send the same User-Agent.
    library: bool = False

    def cannot_remove(self, difference: str) -> bool:
        if self.switch(difference):
            return False
        every = _EVERY in self.cannot and difference != BASE_URL
        return every or difference in self.cannot

    def switch(self, difference: str) -> str:
        """Return how to remove a difference, or "" if that is not known."""
        return self.switches.get(advice(difference), "")


@cache
def table() -> tuple[Program, ...]:
    """Return the rows of `programs.toml`; raise an error if one is invalid."""
    rows = []
    for row in tomllib.loads(_TABLE.read_text(encoding="utf-8"))["program"]:
        switches = row.get("switches", {})
        parsed: dict[str, Any] = {
            "cannot": frozenset(row.get("cannot", ())),
            "switches": {advice(name): _filled_in(switches[name]) for name in switches},
            "setup": _filled_in(row.get("setup", "")),
        }
        if "user_agent" in row:
            parsed["user_agent"] = re.compile(row["user_agent"])
        rows.append(Program(**(row | parsed)))
    return tuple(rows)


def load() -> None:
    """Load the table now, so that the first request does not wait 10 ms for it."""
    _user_agents()


def recognise(user_agent: str) -> Program | None:
    """Return the program or library that a User-Agent identifies."""
    found = _user_agents().search(user_agent)
    return table()[int(found.lastgroup[1:])] if found and found.lastgroup else None


@cache
def _user_agents() -> re.Pattern[str]:
    """Return one pattern for all rows; the matching group is named after its row."""
    return re.compile(
        "|".join(
            f"(?P<n{number}>{row.user_agent.pattern})"
            for number, row in enumerate(table())
            if row.user_agent
        )
    )


def advise(user_agent: str, differences: Sequence[str], *, connected: bool) -> str:
    """Return what to change, in the program's own terms if it is known.

    `connected` means that the request has proved its address and key to be right.
    """
    program = recognise(user_agent)
    proved = _WORKS if connected else _UNPROVED
    if program and any(map(program.cannot_remove, differences)):
        return f"{program.name} cannot be made to comply. {proved}"
    switched = {each: program.switch(each) for each in differences} if program else {}
    # Any program may send a library's User-Agent, so the general advice comes first.
    is_library = program is None or program.library
    left = [each for each in differences if is_library or not switched[each]]
    # Fields without a setting come last, because the ending refers to them.
    fields = [each for each in left if each not in ADVICE and not switched.get(each)]
    sentences = [advice(each) for each in left if each not in fields]
    if program and (special := [*dict.fromkeys(filter(None, switched.values()))]):
        first, *others = map(_sentence, special)
        sentences += [f"{program.name}: {first}", *others]
    sentences = list(dict.fromkeys([*sentences, *map(advice, fields)]))
    is_default = any(map(may_be_default, left))
    ending = f"{_MAY_BE_UNABLE} {proved}" if is_default else ""
    return f"{_shortened(sentences, ADVICE_LENGTH - len(ending))} {ending}".rstrip()


def _sentence(switch: str) -> str:
    """Return advice as a sentence, capitalized unless it begins with code."""
    begins_with_a_word = _BEGINS_WITH_A_WORD.match(switch)
    return f"{switch[0].upper() if begins_with_a_word else switch[0]}{switch[1:]}."


def _shortened(sentences: Sequence[str], room: int) -> str:
    """Return as many sentences as fit, and how many do not."""
    text, *others = sentences
    for number, sentence in enumerate(others):
        count = f" And {len(others) - number} more."
        if len(f"{text} {sentence} {count}") > room:
            return text + count
        text = f"{text} {sentence}"
    return text


def _filled_in(text: str) -> str:
    """Fill in the contract's values; raise `KeyError` if a name is unknown."""
    return Template(text).substitute(_CONTRACT)
