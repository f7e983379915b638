"""When the service is reloaded, killed and cut off from its database.

A reload happens every ten seconds, and between two reloads at most one other fault:

| reload | fault |
| 1 | a worker is killed, then the counts are compared |
| 2 | the first kind of database outage |
| 3 | the second kind of database outage |
| 4 | an outage during the reload, then the counts are compared |
| 5 | a worker is killed |

and so on from the beginning. To compare the counts, the clients pause for a moment. A
kill may lose counts, so in the second half of the faults no worker is killed: there
the counts must be exact. The last part of a run is calm: the load goes on, and the same
workers serve to the end, so that their memory can be watched.
"""

from typing import NamedTuple

RELOAD_SECONDS = 10
# One round of faults, in seconds; the calm at the end comes after that.
SHORTEST_FAULTS = 44
CALM_SHARE = 0.2
# Runs of this length or more also judge whether memory grows.
LONG_RUN_SECONDS = 3600
# Judging memory takes half an hour; the rest allows for faults that end late because
# comparing the counts has delayed them.
LONG_CALM_SECONDS = 35 * 60
RELOAD = "reload"
KILL = "kill"
GO = "go"
COME_BACK = "come back"
COMPARE = "compare"


class Step(NamedTuple):
    """What to do, and how many seconds after the start."""

    at: float
    what: str
    kind: int = 0
    """Which of the two kinds of outage."""


def faults_end(seconds: float) -> float:
    """Return when the calm at the end begins."""
    calm = seconds * CALM_SHARE
    if seconds >= LONG_RUN_SECONDS:
        calm = max(calm, LONG_CALM_SECONDS)
    return max(SHORTEST_FAULTS, seconds - calm)


def steps(seconds: float) -> list[Step]:
    """Return all steps of a run in their order."""
    end = faults_end(seconds)
    found: list[Step] = []
    for number in range(1, int(end) // RELOAD_SECONDS + 1):
        at = number * RELOAD_SECONDS
        if at + 4 <= end:
            found += [Step(at, RELOAD), *_fault(number, at)]
    # Every outage that begins also ends.
    found = [s for s in found if s.at <= end or s.what == COME_BACK]
    return sorted(s for s in found if s.at <= end / 2 or s.what != KILL)


def _fault(number: int, at: float) -> list[Step]:
    match number % 5:
        case 2:
            return [Step(at + 3, GO, 0), Step(at + 6, COME_BACK)]
        case 3:
            return [Step(at + 3, GO, 1), Step(at + 7, COME_BACK)]
        case 4:
            # Shorter than the time that a retiring worker has to write its usage.
            away = [Step(at - 1, GO, 1), Step(at + 3, COME_BACK)]
            return [*away, Step(at + 6.5, COMPARE)]
        case 1:
            return [Step(at + 4, KILL), Step(at + 6.5, COMPARE)]
        case _:
            return [Step(at + 4, KILL)]
