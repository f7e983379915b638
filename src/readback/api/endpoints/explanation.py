"""What a refused request is told: one line that names every difference, with one hint.

The first finding is a whole sentence, the others follow in a few words. The hint is
for the program that sent the request, if it is recognised.
"""

from collections.abc import Sequence
from typing import NamedTuple

from readback import programs
from readback.api.endpoints.refusal import Finding
from readback.contract import JOURNAL_DIFFERENCES_LENGTH, MAX_DETAIL_LENGTH
from readback.differences import ADVICE, advice
from readback.programs import RecognisedProgram


class Explanation(NamedTuple):
    """Why a request is refused."""

    code: str
    detail: str
    # The ids of all differences, with a space in between.
    differences: str


def explain(findings: Sequence[Finding], user_agent: str) -> Explanation:
    first, *others = findings
    found = dict.fromkeys(id_ for finding in findings for id_ in finding.differences)
    # Names of fields that no program is known to send must not push out the others.
    ids = sorted(found, key=lambda each: each not in ADVICE)
    hint = _hint(programs.recognise(user_agent, ids), ids)
    room = MAX_DETAIL_LENGTH - len(f"{first.sentence}  {hint}")
    also = _also([other.short for other in others], room)
    detail = " ".join(filter(None, (first.sentence, also, hint)))
    return Explanation(first.code, detail, _joined(ids))


def _also(shorts: Sequence[str], room: int) -> str:
    """Return as much of a list as there is room for, and how much is left out."""
    if not shorts:
        return ""
    for shown in range(len(shorts), 0, -1):
        left = len(shorts) - shown
        rest = f"; and {left} more" if left else ""
        also = f"Also: {'; '.join(shorts[:shown])}{rest}."
        if len(also) <= room:
            return also
    return f"Also: {len(shorts)} more."


def _hint(program: RecognisedProgram | None, differences: Sequence[str]) -> str:
    """Return what helps most; the general thing first if the program is a guess."""
    general = advice(differences[0])
    if program is None:
        return general
    special = program.hint(differences, connected=True)
    return special or general if program.alone else f"{general} {special}".rstrip()


def _joined(differences: Sequence[str]) -> str:
    """Return the ids as the journal stores them, as many as there is room for."""
    joined = " ".join(differences)
    if len(joined) <= JOURNAL_DIFFERENCES_LENGTH:
        return joined
    return joined[: JOURNAL_DIFFERENCES_LENGTH + 1].rpartition(" ")[0]
