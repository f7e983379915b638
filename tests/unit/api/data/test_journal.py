"""The journal: equal outcomes are merged, counts are exact, memory is bounded."""

import pytest

from readback.api.data import journal as journal_module
from readback.api.data.journal import Event, Journal
from readback.api.shared.counters import Counters

HOUR = 3600.0


@pytest.fixture
def counters():
    return Counters(1)


@pytest.fixture
def journal(counters):
    return Journal(counters.row(0))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(journal_module, "MAX_PENDING", 10)


def event(key_id: int = 1, agent: str = "", code: str = "") -> Event:
    return Event(bytes([key_id]), "chat", 400 if code else 200, code, "", agent, "")


def unnumbered(digest: bytes) -> int:
    return 0


def requests(tallies) -> int:
    return sum(tally.requests for tally in tallies)


def test_equal_outcomes_share_one_tally(journal, counters):
    for agent in ("a", "b", "a"):
        journal.note(event(agent=agent), 10, 20)
    journal.close(HOUR, unnumbered)

    tallies = journal.fetch()
    assert {(t.event.user_agent, t.requests, t.at) for t in tallies} == {
        ("a", 2, HOUR),
        ("b", 1, HOUR),
    }
    assert counters.total(("chat", "")) == 3
    assert journal.fetch() == [] and len(journal) == 0


def test_a_closed_tally_is_not_used_again(journal):
    tally = journal.open(event())
    journal.close(1.0, unnumbered)
    assert not tally.open
    assert journal.open(event()) is not tally


def test_tallies_that_were_not_written_are_merged_by_hour(journal, counters):
    for wall in (10.0, 20.0, HOUR + 1):
        journal.note(event(), 0, 0)
        journal.close(wall, unnumbered)
        journal.give_back(journal.fetch())

    tallies = journal.fetch()
    assert sorted((t.at, t.requests) for t in tallies) == [(20.0, 2), (HOUR + 1, 1)]
    assert counters.total(("chat", "")) == 3


def test_tallies_that_are_merged_keep_the_newest_created(journal):
    for last_created in (5, 9, 7):
        journal.note(event(), 0, 0)
        journal.close(10.0, {event().digest: last_created}.get)
    [tally] = journal.fetch()
    assert tally.last_created == 9


def test_above_the_limit_details_are_omitted_and_counts_stay_exact(
    journal, counters, small
):
    for round_ in range(5):
        for number in range(30):
            journal.note(event(agent=f"{round_} {number}"), 0, 0)
        journal.close(1.0, unnumbered)
    assert len(journal) <= 11
    assert requests(journal.fetch()) == 150
    assert counters.total("journal_dropped") == 0


def test_above_twice_the_limit_dropped_requests_are_counted(journal, counters, small):
    for key_id in range(100):
        journal.note(event(key_id), 0, 0)
    journal.close(1.0, unnumbered)
    for key_id in range(100):
        journal.note(event(key_id, code="not_found"), 0, 0)
    journal.close(1.0, unnumbered)

    kept = journal.fetch()
    assert len(kept) == 20
    assert requests(kept) + counters.total("journal_dropped") == 200
    # The metrics count them all.
    answered = counters.total(("chat", "")) + counters.total(("chat", "not_found"))
    assert answered == 200


def test_an_outcome_that_cannot_be_counted_affects_no_other(counters):
    errors = []
    journal = Journal(counters.row(0), errors.append)
    journal.note(event(1)._replace(endpoint="nowhere"), 0, 0)
    journal.note(event(2), 0, 0)
    journal.close(10.0, unnumbered)
    [tally] = journal.fetch()
    assert tally.event == event(2) and [type(error) for error in errors] == [KeyError]
    assert counters.total("journal_dropped") == 1
