"""What arrived at the server, and how that differs from what a test expects.

Readback keeps no text, so there is none to compare here.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from readback.contract import REFUSALS

ACCEPTED = "accepted"
_OUTCOMES = (ACCEPTED, *REFUSALS)
_HEADINGS = ("requests", "outcome", "endpoint", "program", "differences")


class ArrivedRequest(NamedTuple):
    """A request with the key of a test, or several equal ones."""

    requests: int
    outcome: str
    """"accepted", or the code of the refusal."""
    status: int
    endpoint: str
    """"chat", "models" or "other"."""
    program: str
    """The name on the page of clients, or what the program calls itself."""
    differences: tuple[str, ...]
    """How a refused request differs from the contract."""


class Expectation(NamedTuple):
    """How many requests with each outcome, and what holds for all of them."""

    outcomes: Mapping[str, int]
    program: str | None
    differences: Collection[str] | None

    def check_names(self) -> None:
        """Raise TypeError if an outcome does not exist: it would never arrive."""
        __tracebackhide__ = True
        for name in self.outcomes.keys() - set(_OUTCOMES):
            similar = get_close_matches(name, _OUTCOMES, n=1)
            hint = f"; did you mean {similar[0]}?" if similar else "."
            raise TypeError(
                f"{name} is neither accepted nor the code of a refusal{hint}"
            )

    def violations(
        self, counts: Counter[str], arrived: Sequence[ArrivedRequest]
    ) -> Iterator[str]:
        """Yield what differs, one sentence each."""
        for outcome in dict.fromkeys([*self.outcomes, *counts]):
            expected = self.outcomes.get(outcome, 0)
            if expected != counts[outcome]:
                yield f"{outcome}: expected {expected}, got {counts[outcome]}"
        for request in arrived:
            if self.program not in (None, request.program):
                yield f"program: expected {self.program}, got {request.program}"
            if not self._allows(request):
                expected_ids = " ".join(sorted(self.differences or ())) or "none"
                got = " ".join(sorted(request.differences)) or "none"
                yield f"differences: expected {expected_ids}, got {got}"

    def _allows(self, request: ArrivedRequest) -> bool:
        if self.differences is None or request.outcome == ACCEPTED:
            return True
        return set(request.differences) == set(self.differences)


def report(violations: Collection[str], arrived: Sequence[ArrivedRequest]) -> str:
    """Return the message of a failed expectation."""
    lines = ["Readback received something else:"]
    lines += [f"  {sentence}" for sentence in dict.fromkeys(violations)]
    if not arrived:
        return "\n".join([*lines, "No request with this key has arrived."])
    return "\n".join([*lines, "What arrived with this key:", *_table(arrived)])


def _table(arrived: Sequence[ArrivedRequest]) -> Iterator[str]:
    rows = [_HEADINGS, *(_cells(request) for request in arrived)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  " + "  ".join(cells).rstrip()


def _cells(request: ArrivedRequest) -> tuple[str, ...]:
    return (
        str(request.requests),
        request.outcome,
        request.endpoint,
        request.program or "-",
        " ".join(request.differences) or "-",
    )
