"""The journal: identical outcomes are merged, counts are exact, memory is bounded."""

import pytest

from readback.api.data import journal as journal_module
from readback.api.data.journal import AT_ONCE, Event, Journal
from readback.api.shared.counters import Counters
from readback.contract import JOURNAL_ROWS, SEVERAL_ADDRESSES

HOUR = 3600.0
TICK = 0.5
INTERVAL = 10.0


@pytest.fixture
def counters():
    return Counters(1)


@pytest.fixture
def journal(counters):
    return Journal(counters.row(0), interval=INTERVAL)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(journal_module, "MAX_TALLIES", 10)


def event(key_id: int = 1, agent: str = "", code: str = "", detail: str = "") -> Event:
    status = 400 if code else 200
    return Event(bytes([key_id]), "chat", status, code, detail, agent)


def note(journal: Journal, noted: Event, sender: str = "192.0.2.1") -> None:
    journal.open(noted).count(sender, 10, 20)


def fetch(journal: Journal):
    return journal.fetch(len(journal), lambda digest: 0)


def requests(tallies) -> int:
    return sum(tally.requests for tally in tallies)


class Ticks:
    """Runs one tick after another, with requests in between."""

    def __init__(self, journal: Journal, wall: float = HOUR) -> None:
        self.journal = journal
        self.now = 0.0
        self.wall = wall
        # Each row, with the time when it was written.
        self.written: list[tuple[float, journal_module.Tally]] = []

    def run(self, seconds: float, *events: Event) -> None:
        for _ in range(int(seconds / TICK)):
            for each in events:
                note(self.journal, each)
            self.now += TICK
            self.wall += TICK
            self.journal.close(self.now, self.wall)
            self.written += [(self.now, each) for each in fetch(self.journal)]

    def rows(self) -> list[journal_module.Tally]:
        return [row for _, row in self.written]


def test_equal_outcomes_share_one_tally(journal, counters):
    for agent in ("a", "b", "a"):
        note(journal, event(agent=agent))
    journal.close(0.0, HOUR)

    tallies = fetch(journal)
    assert {(t.event.user_agent, t.requests, t.at) for t in tallies} == {
        ("a", 2, HOUR),
        ("b", 1, HOUR),
    }
    assert {(t.request_bytes, t.answer_bytes) for t in tallies} == {(10, 20)}
    assert counters.total(("chat", "")) == 3
    assert fetch(journal) == [] and len(journal) == 0


def test_a_repeated_outcome_is_written_once_per_interval(journal, counters):
    """The first few rows are written at once, for people who try only a few times."""
    ticks = Ticks(journal)
    ticks.run(120, event())
    assert counters.total(("chat", "")) == 240
    times = [at for at, _ in ticks.written]
    assert times[:AT_ONCE] == [TICK * n for n in range(1, AT_ONCE + 1)]
    pauses = [later - at for at, later in zip(times, times[1:], strict=False)]
    # The first interval is shortened at random, and each ends with a tick.
    later = pauses[AT_ONCE:]
    assert all(abs(pause - INTERVAL) <= TICK for pause in later)
    assert len(later) > 8
    last = ticks.wall
    ticks.run(INTERVAL)
    assert requests(ticks.rows()) == 240
    # A row is dated by its last request.
    assert max(row.at for row in ticks.rows()) == last


def test_an_outcome_with_short_pauses_is_written_once_per_interval(journal):
    ticks = Ticks(journal)
    for _ in range(60):
        ticks.run(TICK, event())
        ticks.run(TICK)
    assert len(ticks.written) <= AT_ONCE + 60 / INTERVAL + 1


def test_an_outcome_that_is_new_or_returns_is_written_at_once(journal):
    ticks = Ticks(journal)
    busy, returning = event(), event(agent="a")
    refused, elsewhere = event(code="invalid_json"), event(agent="other")
    ticks.run(60, busy, returning)
    ticks.run(2 * INTERVAL, busy)
    assert requests(ticks.rows()) >= 240
    ticks.written.clear()
    ticks.run(TICK, busy, returning, refused, elsewhere)
    assert {row.event for row in ticks.rows()} >= {returning, refused, elsewhere}


def test_a_tally_stays_open_while_its_outcome_is_repeated(journal):
    tally = journal.open(event())
    ticks = Ticks(journal)
    ticks.run(30, event())
    assert tally.open and journal.open(event()) is tally
    ticks.run(4 * INTERVAL)
    assert not tally.open and journal.open(event()) is not tally


def test_setting_the_clock_loses_nothing(journal, counters):
    ticks = Ticks(journal, 10 * HOUR)
    for step in (5 * HOUR, -9 * HOUR, 2 * HOUR):
        ticks.run(30, event())
        ticks.wall += step
    ticks.run(INTERVAL)
    assert requests(ticks.rows()) == 180 == counters.total(("chat", ""))


@pytest.mark.parametrize(
    ("senders", "address"),
    [
        (["192.0.2.1", "192.0.2.1"], "192.0.2.x"),
        (["192.0.2.1", "192.0.2.2:443", "[::ffff:192.0.2.3]"], "192.0.2.x"),
        (["192.0.2.1", "198.51.100.1", "192.0.2.1"], SEVERAL_ADDRESSES),
        ([""], ""),
        (["nonsense", ""], ""),
        (["", "192.0.2.1"], SEVERAL_ADDRESSES),
    ],
)
def test_a_row_names_the_address_unless_there_are_several(journal, senders, address):
    # The previous row has several addresses, which must not matter.
    for wall, of_row in (HOUR, ["192.0.2.1", "2001:db8::1"]), (HOUR + TICK, senders):
        for sender in of_row:
            note(journal, event(), sender)
        journal.close(wall, wall)
        [row] = fetch(journal)
    assert (row.sender, row.requests) == (address, len(senders))


def test_the_rows_of_a_key_are_bounded_whatever_is_sent(journal):
    for number in range(1000):
        program, detail = f"program {number}", f"wrong {number % 300}"
        note(journal, event(1, program, "invalid_json", detail=detail))
        note(journal, event(2))
    journal.close(0.0, HOUR)
    rows = fetch(journal)
    assert requests(rows) == 2000
    # Details are kept until there are as many rows as a page shows.
    assert JOURNAL_ROWS <= len(rows) <= JOURNAL_ROWS + 2
    [merged] = [row for row in rows if row.event.code and not row.event.detail]
    assert merged.sender == SEVERAL_ADDRESSES


def test_the_tallies_of_many_keys_are_closed_in_parts(journal, counters):
    for key_id in range(250):
        note(journal, event(key_id))
    closed = []
    for _ in journal.close_in_parts(0.0, HOUR):
        closed.append(len(journal))
        # Meanwhile, use a key whose tally is closed, and one whose tally is still open.
        note(journal, event(0))
        note(journal, event(249))
    assert closed == [100, 200]
    journal.close(0.0, HOUR)
    assert requests(fetch(journal)) == counters.total(("chat", "")) == 254


def test_tallies_that_were_not_written_are_merged_by_hour(journal, counters):
    for now, wall in ((1.0, 10.0), (11.0, 20.0), (21.0, HOUR + 1)):
        note(journal, event(), f"192.0.{now:g}.2")
        journal.close(now, wall)
        journal.give_back(journal.fetch(2, lambda digest: 5))

    first, last = journal.fetch(2, lambda digest: 9)
    assert (first.at, first.requests, first.sender) == (20.0, 2, SEVERAL_ADDRESSES)
    assert (last.at, last.requests, last.sender) == (HOUR + 1, 1, "192.0.21.x")
    # `last_created` is looked up when a tally is fetched.
    assert first.last_created == last.last_created == 9
    assert counters.total(("chat", "")) == 3


def test_above_the_limit_details_are_omitted_and_counts_stay_exact(
    journal, counters, small
):
    assert len({journal.open(event(agent=f"{n}")) for n in range(30)}) <= 11
    journal.hurry()
    for round_ in range(5):
        for number in range(30):
            note(journal, event(agent=f"{round_} {number}", detail=f"{number}"))
        journal.close(float(round_), 1.0)
    assert len(journal) <= 11
    rows = fetch(journal)
    assert requests(rows) == 150
    assert "" in {row.event.detail for row in rows}
    assert counters.total("journal_dropped") == 0
    journal.close(9.0, 1.0)  # forgets keys without new requests
    assert not journal._keys
    note(journal, event(detail="later"))
    journal.close(10.0, 1.0)
    assert [row.event.detail for row in fetch(journal)] == ["later"]


def test_above_the_last_limit_dropped_requests_are_counted(journal, counters, small):
    for code in "", "not_found":
        for key_id in range(100):
            note(journal, event(key_id, code=code))
        journal.close(1.0, 1.0)

    kept = fetch(journal)
    assert len(kept) == 20
    assert requests(kept) + counters.total("journal_dropped") == 200
    # The metrics count dropped requests, too.
    answered = counters.total(("chat", "")) + counters.total(("chat", "not_found"))
    assert answered == 200
