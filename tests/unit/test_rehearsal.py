"""The patterns of rehearsal keys: what can be written, and what is stored."""

import pytest

from readback.rehearsal import MAX_PATTERN_LENGTH, checked_pattern, wait_seconds

LONGEST = " ".join(["wait30"] * 20)


@pytest.mark.parametrize(
    ("entered", "stored"),
    [
        ("429 429 ok", "429 429 ok"),
        ("  503\tok\n", "503 ok"),
        ("500", "500"),
        ("wait1 wait30", "wait1 wait30"),
        (LONGEST, LONGEST),
    ],
)
def test_a_pattern_is_stored_with_single_spaces(entered: str, stored: str) -> None:
    assert checked_pattern(entered) == stored
    assert len(stored) <= MAX_PATTERN_LENGTH


@pytest.mark.parametrize(
    "entered",
    [
        *("", " ", "418", "200", "OK", "ok,ok", "429;ok", "оk"),
        *("wait", "wait0", "wait01", "wait31", "wait100", "wait-1", "wait5s", "wait５"),
        " ".join(["ok"] * 21),
        "ok " * 100_000,
    ],
)
def test_any_other_pattern_is_refused_with_the_rule(entered: str) -> None:
    with pytest.raises(ValueError, match="1 to 20 steps") as error:
        checked_pattern(entered)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(("step", "seconds"), [("ok", 0), ("429", 0), ("wait7", 7)])
def test_only_a_wait_delays_an_answer(step: str, seconds: int) -> None:
    assert wait_seconds(step) == seconds


def test_the_longest_pattern_fits_into_its_column() -> None:
    assert len(LONGEST) == MAX_PATTERN_LENGTH
