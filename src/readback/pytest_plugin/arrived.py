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

    def check(self) -> None:
        """Raise TypeError or ValueError if an argument could not be compared.

        What arrives is compared only with what is expected of some request, so an
        argument without such a request would be ignored.
        """
        __tracebackhide__ = True
        for name, requests in self.outcomes.items():
            _check_outcome(name, requests)
        if not isinstance(self.program, str | None):
            raise TypeError(f"program must be a string; got {self.program!r}")
        if self.program is not None and not any(self.outcomes.values()):
            raise ValueError(
                "program needs requests to compare: name their outcome, as in "
                "accepted=1."
            )
        refusals = self.outcomes.keys() - {ACCEPTED}
        if self.differences and not any(self.outcomes[code] for code in refusals):
            raise ValueError(
                "differences needs refused requests to compare: name their code, as "
                "in unknown_field=1."
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


def difference_ids(differences: object) -> list[str] | None:
    """Return the ids of a string or of a collection; raise TypeError for others."""
    __tracebackhide__ = True
    if differences is None:
        return None
    if isinstance(differences, str):
        return differences.split()
    if not isinstance(differences, Collection) or not all(
        isinstance(one, str) for one in differences
    ):
        raise TypeError(
            f"differences must be a string or a list of strings; got {differences!r}"
        )
    return " ".join(differences).split()


def _check_outcome(name: str, requests: object) -> None:
    __tracebackhide__ = True
    if name not in _OUTCOMES:
        similar = get_close_matches(name, _OUTCOMES, n=1)
        hint = f"; did you mean {similar[0]}?" if similar else "."
        raise TypeError(f"{name} is neither accepted nor the code of a refusal{hint}")
    # True would be compared as 1.
    if not isinstance(requests, int) or isinstance(requests, bool):
        raise TypeError(f"{name} must be a number of requests; got {requests!r}")
    if requests < 0:
        raise ValueError(f"{name} must not be negative; got {requests}")


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
