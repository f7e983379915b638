"""The first difference between two texts is reported, with its code points."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.contract import MAX_CONTENT_BYTES
from readback.probe.service import readback


@pytest.mark.parametrize(
    ("sent", "received", "difference"),
    [
        ("abc", "abd", "character 3 (byte 3), sent U+0063 c, received U+0064 d"),
        ("жя", "ж?", "character 2 (byte 3), sent U+044F я, received U+003F ?"),
        ("a\r\nb", "a\nb", "character 2 (byte 2), sent U+000D, received nothing"),
    ],
)
def test_the_first_difference_is_shown(
    sent: str, received: str, difference: str
) -> None:
    assert readback.first_difference(sent, received) == difference


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(sent: str, received: str) -> None:
    if sent != received:
        assert readback.first_difference(sent, received).startswith("character")


def test_the_samples_contain_what_filters_change() -> None:
    assert readback.ASCII.isascii()
    assert readback.ASCII.strip() != readback.ASCII
    assert unicodedata.normalize("NFC", readback.CYRILLIC) == readback.CYRILLIC
    forms = {
        unicodedata.normalize(f, readback.MARKS) for f in ("NFC", "NFD", "NFKC", "NFKD")
    }
    assert len(forms | {readback.MARKS}) == 5
    assert {"\0", "\n", "\r", "\t", "\ufeff"} <= set(readback.CONTROLS)
    assert len(readback.largest_text().encode()) == MAX_CONTENT_BYTES
