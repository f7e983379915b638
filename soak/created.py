"""Check `created` by its rule, from what the clients have seen.

The rule: for one key, no value repeats within any 1000 consecutive responses (so every
response differs from the one before), and no value is more than an hour ahead of the
clock. A worker that is killed may lose what it did in its last half second.

A client does not see the order in which the service makes its responses; it knows that
each was made between the sending of the request and the arrival of the response. If two
responses of a key have the same value, this module counts every response of that key
that can have been made between them in any order that the times allow. If the two and
all of these are at most 1000, the rule is broken for certain. With one request at a
time, as for a key that one client alone uses, the times allow one order only.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from soak.records import LOST, Kill, Observation, Scene, Seen

WINDOW = 1000
MAX_LEAD = 3600.0
# The clocks are read at different moments, and values are whole seconds.
CLOCK_SLACK = 2.0
KILL_SECONDS = 1.0
"""Half a second that a killed worker may lose, and as much for a busy machine."""


@dataclass
class CreatedReport:
    values: int = 0
    equal_neighbours: int = 0
    """Responses that equal the one before; seen on keys of a single client."""
    repeated: int = 0
    """Responses whose value was used less than 1000 responses before."""
    after_kill: int = 0
    """Such repetitions that a kill explains."""
    out_of_range: int = 0
    closest: int | None = None
    """The least distance of two equal values of a key, in responses."""
    leads: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """The least and the greatest lead over the clock, in seconds."""

    @property
    def violations(self) -> int:
        return self.repeated + self.out_of_range


def check(seen: Seen, scene: Scene, own_keys: Iterable[int]) -> CreatedReport:
    report = CreatedReport()
    by_key: defaultdict[int, list[Observation]] = defaultdict(list)
    for row in seen.observations:
        by_key[row.key].append(row)
    own = set(own_keys)
    for key, rows in by_key.items():
        if key >= 0:
            _check_distances(report, rows, key in own, seen, scene.kills)
    _check_leads(report, seen.observations, scene.wall_offset)
    return report


def _check_distances(
    report: CreatedReport,
    rows: Sequence[Observation],
    is_own: bool,
    seen: Seen,
    kills: Sequence[Kill],
) -> None:
    # A lost request may have had a response, too, so it counts as one here.
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
        # The most responses that there can be from the one to the other, with both.
        end = bisect_right(sent, row.received)
        distance = end - bisect_left(received, before.sent) - 1
        report.closest = min(distance, report.closest or distance)
        if distance >= WINDOW:
            continue
        if _explained_by_kill(before, row, seen, kills):
            report.after_kill += 1
            continue
        report.repeated += 1
        report.equal_neighbours += is_own and distance == 1


def _explained_by_kill(
    before: Observation, after: Observation, seen: Seen, kills: Sequence[Kill]
) -> bool:
    connection = seen.connections[before.connection]
    made_by = before.received - connection.delay
    return any(
        connection.port in kill.ports
        and kill.at - KILL_SECONDS <= made_by
        and before.sent <= kill.at <= after.received
        for kill in kills
    )


def _check_leads(
    report: CreatedReport, rows: Sequence[Observation], wall_offset: float
) -> None:
    answered = [row for row in rows if row.created]
    if not answered:
        return
    # Against the moment that is more favourable to the service in each case.
    ahead = max(row.created - (row.received + wall_offset) for row in answered)
    behind = min(row.created - (row.sent + wall_offset) for row in answered)
    report.leads = [behind, ahead]
    for row in answered:
        too_late = row.created > row.received + wall_offset + MAX_LEAD + CLOCK_SLACK
        too_early = row.created < row.sent + wall_offset - CLOCK_SLACK
        report.out_of_range += too_late or too_early
