"""Check the rule for `created` against what the clients have seen.

The rule: two successive responses to one key differ, and no value is more than an hour
ahead of the clock, even if a worker is killed or replaced between the two.

A client does not see the order in which the service makes its responses, but it knows
that each was made between sending the request and receiving the response. If two
responses of a key have the same value, this module counts the responses of that key
that may have been made between them, as far as the times allow. If there is none, the
rule is certainly broken. If a single client uses a key, the times allow only one order.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from soak.records import LOST, Observation, Scene, Seen

MAX_LEAD = 3600.0
# The clocks are read at different moments, and values are whole seconds.
CLOCK_SLACK = 2.0


@dataclass
class CreatedReport:
    values: int = 0
    repeated: int = 0
    """Responses with the same value as the one before."""
    out_of_range: int = 0
    closest: int | None = None
    """The smallest distance between equal values of a key, in responses."""
    leads: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """The smallest and the largest lead over the clock, in seconds."""

    @property
    def violations(self) -> int:
        return self.repeated + self.out_of_range


def check(seen: Seen, scene: Scene) -> CreatedReport:
    report = CreatedReport()
    by_key: defaultdict[int, list[Observation]] = defaultdict(list)
    for row in seen.observations:
        by_key[row.key].append(row)
    for key, rows in by_key.items():
        if key >= 0:
            _check_distances(report, rows, seen)
    _check_leads(report, seen.observations, scene.wall_offset)
    return report


def _check_distances(
    report: CreatedReport, rows: Sequence[Observation], seen: Seen
) -> None:
    # A lost request may have had a response, so it counts as one.
    lost = {n for n, (_, code) in enumerate(seen.outcomes) if code == LOST}
    made = [row for row in rows if row.created or row.outcome in lost]
    sent = sorted(row.sent for row in made)
    received = sorted(row.received for row in made)
    last: dict[int, Observation] = {}
    for row in sorted(made, key=lambda row: row.received):
        if not row.created:
            continue
        report.values += 1
        before = last.get(row.created)
        last[row.created] = row
        if before is None:
            continue
        # The most responses that may have followed the first one, including the second.
        end = bisect_right(sent, row.received)
        distance = end - bisect_left(received, before.sent) - 1
        report.closest = min(distance, report.closest or distance)
        report.repeated += distance == 1


def _check_leads(
    report: CreatedReport, rows: Sequence[Observation], wall_offset: float
) -> None:
    answered = [row for row in rows if row.created]
    if not answered:
        return
    # Compare with the moment that favours the service.
    ahead = max(row.created - (row.received + wall_offset) for row in answered)
    behind = min(row.created - (row.sent + wall_offset) for row in answered)
    report.leads = [behind, ahead]
    for row in answered:
        too_late = row.created > row.received + wall_offset + MAX_LEAD + CLOCK_SLACK
        too_early = row.created < row.sent + wall_offset - CLOCK_SLACK
        report.out_of_range += too_late or too_early
