"""Untrusted text is sanitized before it is shown, and durations are rounded."""

import pytest

from readback.probe.common import formatting
from readback.probe.common.formatting import format_duration, sanitize


def test_untrusted_text_cannot_control_the_terminal() -> None:
    assert sanitize("a\x1b[2Jb\r\nc\x07\u202e") == "a�[2Jb c��"


def test_text_that_looks_like_a_key_is_redacted() -> None:
    assert sanitize("key sk-proj-abcdef0123456789 is wrong") == "key sk-… is wrong"


def test_long_text_is_truncated() -> None:
    assert sanitize("x" * 10_000) == "x" * 159 + "…"


def test_no_pattern_looks_at_more_of_a_text_than_can_be_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(
        formatting, "without_credentials", lambda text: searched.append(text) or text
    )
    sanitize("://" * 300_000)
    sanitize("a ://" * 200_000)
    assert max(map(len, searched)) <= 4096


def test_a_key_that_the_end_of_the_searched_text_cuts_is_not_shown() -> None:
    text = " " * 4090 + "sk-proj-abcdef0123456789" + " " * 4090
    assert "sk-" not in sanitize(text)


@pytest.mark.parametrize(
    ("seconds", "formatted"),
    [(0.00012, "0.1 ms"), (0.0098, "9.8 ms"), (0.0123, "12 ms"), (1.25, "1.2 s")],
)
def test_a_duration_has_two_significant_digits(seconds: float, formatted: str) -> None:
    assert format_duration(seconds) == formatted
