"""What is accepted for a long text without decoding it, msgspec accepts, too."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from readback.api.endpoints import long_texts
from readback.api.endpoints.long_texts import is_plain

pytest.importorskip("simdjson", reason="simdjson is not installed for this Python")

# Pieces of texts: valid in several scripts, and all that must not be accepted.
PLAIN = ["a", "ы", "€", "漢", "𝄞", "\x7f", "\u2028", "\ufffe", " ", "/", "]", "[", ","]
PIECES = [
    *(piece.encode() for piece in PLAIN),
    *(rb"\n", rb"\"", rb"\\", rb"\u0416", rb"\ud800", rb"\ud834\udd1e", rb"\x", b"\\"),
    *(b'"', b'","', b'"],["', b'"]', b'",["', b'":"', b"\x00", b"\n", b"\t", b"\x1f"),
    # not UTF-8: alone, cut off, overlong, a surrogate, too high, never valid
    *(b"\x80", b"\xd1", b"\xe2\x82", b"\xf0\x9d\x84", b"\xc0\xaf", b"\xe0\x80\xaf"),
    *(b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff"),
]
# The place of a piece matters to code that reads many bytes at once.
TEXTS = st.builds(
    lambda before, pieces, after: (
        "ы".encode() * before + b"".join(pieces) + b"x" * after
    ),
    st.integers(0, 150),
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=8),
    st.integers(0, 150),
)


def decoded(text: bytes) -> str | None:
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


@given(TEXTS)
@example(b"")
@example(b'","')
@settings(max_examples=400)
def test_both_come_to_the_same_verdict(inner: bytes) -> None:
    text = b'"' + inner + b'"'
    content = decoded(text)
    is_plain_text = content is not None and content.encode() == inner
    assert is_plain(text) == is_plain_text


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3000).map("".join))
@settings(max_examples=50)
def test_plain_texts_are_accepted(text: str) -> None:
    assert is_plain(b'"%b"' % text.encode())


def test_without_simdjson_every_text_is_left_to_msgspec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_texts, "_parse", None)
    assert not is_plain(b'"x"')
