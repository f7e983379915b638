"""How a text was changed: the likely cause and the first difference."""

import html
import json
import re
import unicodedata
from urllib.parse import unquote, unquote_plus

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
    ("sample", "corrupt", "id", "cause"),
    [
        ("cyrillic", read_as("cp1252"), "charset", "cp1252"),
        ("cyrillic", read_as("latin-1"), "charset", "latin-1"),
        ("cyrillic", read_as("cp1251"), "charset", "cp1251"),
        ("cyrillic", lambda t: re.sub(r"[^ -~]", "?", t), "charset", "ASCII"),
        ("cyrillic", lambda t: "\ufffd" + t[1:], "charset", "not UTF-8"),
        ("marks", without_astral, "charset", "U+FFFF"),
        ("marks", normalized("NFC"), "normalised", "NFC"),
        ("marks", normalized("NFD"), "normalised", "NFD"),
        ("marks", normalized("NFKC"), "normalised", "NFKC"),
        ("controls", lambda t: t.replace("\r\n", "\n"), "line_ends", "LF"),
        ("controls", with_crlf, "line_ends", "CR LF"),
        ("ascii", lambda t: t.strip(), "trimmed", ""),
        ("ascii", lambda t: t.replace('"', "”").replace("--", "–"), "smart_quotes", ""),
        ("ascii", escaped, "escaped", ""),
        ("controls", lambda t: t.replace("\0", "").replace("\x1b", ""), "controls", ""),
        ("ascii", str.rstrip, "trimmed", ""),
        ("ascii", html.unescape, "unescaped", "entities"),
        ("ascii", lambda t: re.sub("<[^>]*>", "", t), "unescaped", "tags"),
        ("ascii", lambda t: re.sub(" +", " ", t), "spaces", "repeated"),
        ("controls", lambda t: t.replace("\t", "    "), "spaces", "tabs"),
        ("marks", lambda t: t.replace("\u00a0", " "), "spaces", "no-break"),
        ("ascii", lambda t: t.replace("+", " "), "form", "+"),
        ("ascii", unquote, "form", "percent"),
        ("ascii", unquote_plus, "form", "+ and percent"),
        ("ascii", lambda t: t.replace("\\", ""), "backslashes", "removed"),
        ("ascii", lambda t: t.replace("\\", "\\\\"), "backslashes", "doubled"),
        ("controls", lambda t: json.dumps(t)[1:-1], "backslashes", "twice"),
        ("marks", lambda t: t.replace("\u200b", ""), "controls", ""),
        ("full", lambda t: t[:1000], "truncated", ""),
        ("full", lambda t: t.upper(), "changed", ""),
    ],
)
def test_a_change_is_attributed_to_its_likely_cause(sample, corrupt, id, cause) -> None:
    sent = SAMPLES[sample]
    found, detail = echo.likely_cause(sent, corrupt(sent))
    assert found == f"echo.{id}"
    assert cause in detail


def test_the_first_difference_is_shown_as_code_points() -> None:
    shown = echo.first_difference("Привет e\u0301 x", "Привет \u00e9 x")
    assert shown == "character 8 (byte 14), sent U+0065 e U+0301, received U+00E9 é"


def test_a_truncated_text_differs_where_it_ends() -> None:
    shown = echo.first_difference("abc", "ab")
    assert shown == "character 3 (byte 3), sent U+0063 c, received nothing"


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(sent: str, received: str) -> None:
    if sent != received:
        assert echo.likely_cause(sent, received)[0].startswith("echo.")
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
