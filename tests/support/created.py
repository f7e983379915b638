"""The rule for `created`, for every test that collects the values of one key."""

from collections.abc import Iterable

APART = 1000
"""Two equal values are at least this many answers apart."""


def assert_created_by_the_rule(values: Iterable[int]) -> None:
    last: dict[int, int] = {}
    for number, value in enumerate(values):
        distance = number - last.get(value, -APART)
        assert distance >= APART, f"{value} again after {distance} answers"
        last[value] = number
