"""How a text was changed: the likely cause and the first difference."""

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.contract import MAX_CONTENT_BYTES
from readback.probe.service import echo

SAMPLES = {
    "ascii": echo.ASCII,
    "cyrillic": echo.CYRILLIC,
    "marks": echo.MARKS,
    "controls": echo.CONTROLS,
    "full": echo.largest_text(),
}


def read_as(charset: str):
    """Return a function that misreads UTF-8 as another encoding."""
    return lambda text: text.encode().decode(charset, "replace")


def normalized(form: str):
    return lambda text: unicodedata.normalize(form, text)


def without_astral(text: str) -> str:
    return "".join(c for c in text if c < "\U00010000")


def with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


@pytest.mark.parametrize(
    ("sample", "corrupt", "words"),
    [
        ("cyrillic", read_as("cp1252"), "cp1252"),
        ("cyrillic", read_as("latin-1"), "latin-1"),
        ("cyrillic", read_as("cp1251"), "cp1251"),
        ("cyrillic", lambda t: re.sub(r"[^ -~]", "?", t), "ASCII"),
        ("cyrillic", lambda t: "\ufffd" + t[1:], "not UTF-8"),
        ("marks", without_astral, "U+FFFF"),
        ("marks", normalized("NFC"), "NFC"),
        ("marks", normalized("NFD"), "NFD"),
        ("marks", normalized("NFKC"), "NFKC"),
        ("controls", lambda t: t.replace("\r\n", "\n"), "line endings"),
        ("controls", with_crlf, "line endings"),
        ("ascii", lambda t: t.strip(), "whitespace"),
        ("ascii", str.rstrip, "whitespace"),
        ("ascii", escaped, "HTML"),
        ("ascii", html.unescape, "HTML"),
        ("controls", lambda t: t.replace("\0", "").replace("\x1b", ""), "control"),
        ("marks", lambda t: t.replace("\u200b", ""), "invisible"),
        ("full", lambda t: t[:1000], "cut off"),
        ("full", lambda t: t.upper(), ""),
    ],
)
def test_a_change_is_attributed_to_its_likely_cause(sample, corrupt, words) -> None:
    sent = SAMPLES[sample]
    found = echo.likely_cause(sent, corrupt(sent))
    assert words in found
    assert bool(words) == bool(found)


def test_the_first_difference_is_shown_as_code_points() -> None:
    shown = echo.first_difference("Привет e\u0301 x", "Привет \u00e9 x")
    assert shown == "character 8 (byte 14), sent U+0065 e U+0301, received U+00E9 é"


def test_a_truncated_text_differs_where_it_ends() -> None:
    shown = echo.first_difference("abc", "ab")
    assert shown == "character 3 (byte 3), sent U+0063 c, received nothing"


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(sent: str, received: str) -> None:
    if sent != received:
        echo.likely_cause(sent, received)
        assert echo.first_difference(sent, received).startswith("character")


def test_the_samples_contain_what_each_cause_changes() -> None:
    assert echo.ASCII.isascii()
    assert echo.ASCII.strip() != echo.ASCII
    assert unicodedata.normalize("NFC", echo.CYRILLIC) == echo.CYRILLIC
    forms = {
        unicodedata.normalize(f, echo.MARKS) for f in ("NFC", "NFD", "NFKC", "NFKD")
    }
    assert len(forms | {echo.MARKS}) == 5
    assert {"\0", "\n", "\r", "\t", "\ufeff"} <= set(echo.CONTROLS)
    assert len(echo.largest_text().encode()) == MAX_CONTENT_BYTES
