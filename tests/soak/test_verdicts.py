"""The soak's verdict names every broken promise, and nothing else."""

import pytest
from soak.records import Kill, Outage

from tests.soak.records import (
    LOST,
    MIB,
    NOW,
    OWN_KEY,
    UNAVAILABLE,
    Story,
    good_story,
)

LOSS = "No request is lost,"
CREATED = "Two successive responses to"
REQUESTS = "`readback_requests_total` is exact."
AVAILABILITY = "A key that a"
FAULTS = "The faults really happened."
SOON = NOW + 100
GROWING = [40 * MIB + at * MIB // 30 for at in range(100)]

# What goes wrong in a soak, and the promise that this breaks.
MISTAKES = [
    ({"wrong": ["chat: expected 200, received 400"]}, "Every answer is right,"),
    ({"refused": ["ConnectionRefusedError()"]}, "Every connection is accepted."),
    ({"uncounted": 1}, REQUESTS),
    ({"unwritten": 1}, "The usage in the"),
    ({"uncounted_connections": 1}, "`readback_connections_total` is exact."),
    ({"worker_memory": GROWING}, "The private memory of"),
    ({"leaks": ["a text in stderr"]}, "No text and no"),
    ({"replaced": False}, FAULTS),
    ({"outages": [Outage("frozen", 20.0, 24.0, noticed=False)]}, FAULTS),
    ({"exit_error": "exit code 1"}, "The service stops cleanly"),
]


@pytest.fixture
def story() -> Story:
    return good_story()


def test_a_soak_without_a_mistake_breaks_no_promise(story):
    judgement = story.judge()

    assert judgement.broken == []
    assert judgement.figures["answers"] == 98


@pytest.mark.parametrize(("mistake", "promise"), MISTAKES)
def test_a_mistake_breaks_its_promise(story, mistake, promise):
    for name, value in mistake.items():
        setattr(story, name, value)

    assert story.broken() == [promise]


def test_memory_that_was_not_watched_for_half_an_hour_is_not_judged(story):
    story.worker_memory = GROWING
    story.sampled_every = 15.0

    [verdict] = [each for each in story.judge().verdicts if "memory" in each.promise]

    assert verdict.kept is None
    assert story.broken() == []


def test_one_request_too_few_is_noticed_where_no_worker_was_killed(story):
    story.kills.append(Kill(20.0, [50_000]))
    story.unwritten = 1

    assert story.broken() == ["The usage in the"]


def test_counts_that_a_kill_may_always_explain_prove_nothing(story):
    story.kills += [Kill(float(at), [50_000]) for at in range(1, 100)]

    assert {REQUESTS, "The usage in the"} <= set(story.broken())


def test_a_lost_request_breaks_a_promise(story):
    story.ask(60.5, outcome=LOST)

    assert story.broken() == [LOSS]


def test_a_kill_explains_the_losses_of_the_killed_worker_alone(story):
    story.connect(50_001, opened=0.0, closed=60.6)
    story.connect(50_002, opened=0.0, closed=60.6)
    story.kills.append(Kill(60.55, [50_001]))
    story.ask(60.5, connection=1, outcome=LOST, takes=0.1)
    assert story.broken() == []

    story.ask(60.5, connection=2, outcome=LOST, takes=0.1)
    assert story.broken() == [LOSS]


def test_503_is_right_only_while_the_database_is_away(story):
    story.outages.append(Outage("frozen", 20.0, 24.0, noticed=True))
    story.ask(22.5, outcome=UNAVAILABLE)
    assert story.broken() == []

    story.ask(60.5, outcome=UNAVAILABLE)
    assert story.broken() == [AVAILABILITY]


def test_a_repeated_id_breaks_a_promise(story):
    story.rows[5] = story.rows[5]._replace(id=story.rows[60].id)

    assert story.broken() == ["Every `id` is unique."]


@pytest.mark.parametrize(
    ("between", "broken"),
    [
        ({}, [CREATED]),
        # Another response came, or may have come, between the two.
        ({"created": SOON + 1}, []),
        ({"created": SOON + 1, "takes": 0.2}, []),
        ({"outcome": UNAVAILABLE}, [CREATED]),
        ({"created": SOON + 1, "key": OWN_KEY + 1}, [CREATED]),
    ],
)
def test_two_successive_responses_with_one_created_break_a_promise(
    story, between, broken
):
    story.outages.append(Outage("frozen", 60.0, 64.0, noticed=True))
    story.ask(60.1, created=SOON)
    if between:
        story.ask(60.2, **between)
    story.ask(60.3, created=SOON)

    assert story.broken() == broken


@pytest.mark.parametrize("created", [NOW + 60 + 3610, NOW + 50 - 5])
def test_a_created_over_an_hour_ahead_or_behind_the_clock_breaks_a_promise(
    story, created
):
    story.rows[59] = story.rows[59]._replace(created=created)

    assert story.broken() == [CREATED]


def test_a_kill_explains_only_what_the_worker_did_last(story):
    story.uncounted = 3
    story.kills.append(Kill(60.1, [50_000]))
    assert story.broken() == [REQUESTS]

    story.uncounted = 2
    assert story.broken() == []
