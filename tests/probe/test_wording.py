"""What strangers say is shown only when it is harmless; figures are short."""

import pytest

from readback.probe.wording import foreign, milliseconds


def test_a_strangers_text_cannot_command_the_terminal() -> None:
    assert foreign("a\x1b[2Jb\r\nc\x07\u202e") == "a�[2Jb c��"


def test_what_looks_like_a_key_is_never_shown() -> None:
    assert foreign("key sk-proj-abcdef0123456789 is wrong") == "key sk-… is wrong"


def test_a_long_text_is_cut() -> None:
    assert foreign("x" * 10_000) == "x" * 159 + "…"


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0.00012, "0.1 ms"), (0.0098, "9.8 ms"), (0.0123, "12 ms"), (1.25, "1.2 s")],
)
def test_a_duration_has_two_digits_that_matter(seconds: float, written: str) -> None:
    assert milliseconds(seconds) == written
