"""How a text was changed: the first difference."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from readback.contract import MAX_CONTENT_BYTES
from readback.probe.service import echo


def test_the_first_difference_is_shown_as_code_points() -> None:
    shown = echo.first_difference("Привет e\u0301 x", "Привет \u00e9 x")
    assert shown == "character 8 (byte 14), sent U+0065 e U+0301, received U+00E9 é"


def test_a_truncated_text_differs_where_it_ends() -> None:
    shown = echo.first_difference("abc", "ab")
    assert shown == "character 3 (byte 3), sent U+0063 c, received nothing"


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(sent: str, received: str) -> None:
    if sent != received:
        assert echo.first_difference(sent, received).startswith("character")


def test_the_texts_contain_what_is_often_changed() -> None:
    assert echo.ASCII.isascii()
    assert echo.ASCII.strip() != echo.ASCII
    assert unicodedata.normalize("NFC", echo.CYRILLIC) == echo.CYRILLIC
    forms = {
        unicodedata.normalize(f, echo.MARKS) for f in ("NFC", "NFD", "NFKC", "NFKD")
    }
    assert len(forms | {echo.MARKS}) == 5
    assert {"\0", "\n", "\r", "\t", "\ufeff"} <= set(echo.CONTROLS)
    assert len(echo.largest_text().encode()) == MAX_CONTENT_BYTES
