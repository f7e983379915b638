"""Every promise can be broken: the judge is only worth something if it says so."""

from soak.records import Kill, Outage

from tests.soak.records import (
    LOST,
    MIB,
    NOW,
    UNAVAILABLE,
    good_story,
)

LOSS = "No request is lost,"
CREATED = "No `created` of a"
REQUESTS = "`readback_requests_total` is exact."
USAGE = "The usage in the"
CONNECTIONS = "`readback_connections_total` is exact."
AVAILABILITY = "A key that a"
SOON = NOW + 100


def test_a_soak_without_a_mistake_breaks_no_promise():
    judgement = good_story().judge()

    assert judgement.broken == []
    assert judgement.figures["answers"] == 98


def test_a_wrong_answer_breaks_a_promise():
    story = good_story()
    story.wrong.append("chat: expected 200, received 400")

    assert story.broken() == ["Every answer is the"]


def test_a_refused_connection_breaks_a_promise():
    story = good_story()
    story.refused.append("ConnectionRefusedError()")

    assert story.broken() == ["Every connection is accepted."]


def test_a_lost_request_breaks_a_promise():
    story = good_story()
    story.ask(60.5, outcome=LOST)

    assert story.broken() == [LOSS]


def test_a_kill_explains_the_losses_of_the_killed_worker_alone():
    story = good_story()
    story.connect(50_001, opened=0.0, closed=60.6)
    story.connect(50_002, opened=0.0, closed=60.6)
    story.kills.append(Kill(60.55, [50_001]))
    story.ask(60.5, connection=1, outcome=LOST, takes=0.1)
    assert story.broken() == []

    story.ask(60.5, connection=2, outcome=LOST, takes=0.1)
    assert story.broken() == [LOSS]


def test_503_is_right_only_while_the_database_is_away():
    story = good_story()
    story.outages.append(Outage("frozen", 20.0, 24.0, noticed=True))
    story.ask(22.5, outcome=UNAVAILABLE)
    assert story.broken() == []

    story.ask(60.5, outcome=UNAVAILABLE)
    assert story.broken() == [AVAILABILITY]


def test_a_repeated_id_breaks_a_promise():
    story = good_story()
    story.rows[5] = story.rows[5]._replace(id=story.rows[60].id)

    assert story.broken() == ["Every `id` is unique."]


def test_a_created_that_repeats_after_999_responses_breaks_a_promise():
    def repeated_after(distance: int) -> list[str]:
        story = good_story()
        story.rows.clear()
        for number in range(distance):
            story.ask(1.0 + number / 100, created=SOON + number, takes=0.001)
        story.ask(1.0 + distance / 100, created=SOON, takes=0.001)
        return story.broken()

    assert repeated_after(999) == [CREATED]
    assert repeated_after(1000) == []


def test_a_created_over_an_hour_ahead_or_behind_the_clock_breaks_a_promise():
    for created in (NOW + 60 + 3610, NOW + 50 - 5):
        story = good_story()
        story.rows[59] = story.rows[59]._replace(created=created)
        assert story.broken() == [CREATED]


def test_one_request_less_breaks_a_promise():
    missing = {
        "uncounted": REQUESTS,
        "unwritten": USAGE,
        "uncounted_connections": CONNECTIONS,
    }
    for what, promise in missing.items():
        story = good_story()
        setattr(story, what, 1)
        assert story.broken() == [promise]


def test_a_kill_explains_only_what_the_worker_did_last():
    story = good_story()
    story.uncounted = 3
    story.kills.append(Kill(60.1, [50_000]))
    assert story.broken() == [REQUESTS]

    story.uncounted = 2
    assert story.broken() == []


def test_growing_memory_breaks_a_promise():
    story = good_story()
    story.worker_memory = [40 * MIB + at * MIB // 4 for at in range(100)]

    assert story.broken() == ["Memory is flat."]


def test_a_text_in_a_log_breaks_a_promise():
    story = good_story()
    story.leaks.append("a text in stderr")

    assert story.broken() == ["No text and no"]


def test_a_fault_that_did_not_happen_breaks_a_promise():
    story = good_story()
    story.replaced = False
    assert story.broken() == ["The faults really happened."]

    story = good_story()
    story.outages.append(Outage("frozen", 20.0, 24.0, noticed=False))
    assert story.broken() == ["The faults really happened."]


def test_a_stop_with_an_error_breaks_a_promise():
    story = good_story()
    story.exit_error = "exit code 1"

    assert story.broken() == ["The service stops cleanly"]
