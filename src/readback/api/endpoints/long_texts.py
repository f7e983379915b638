"""Whether a long text is valid, found without making a Python string of it.

msgspec checks a text by decoding it. For texts that are not ASCII, Python's own UTF-8
decoder then takes three quarters of the time, for a string that nobody reads: the text
is sent back as it was received. simdjson checks the bytes alone.

It only ever says yes. Whatever it does not confirm is left to msgspec, and so is every
text where simdjson is not installed (see pyproject.toml).
"""

from collections.abc import Callable

_parse: Callable[[bytes], object] | None
try:
    from simdjson import Parser

    _parse = Parser().parse
except ImportError:
    _parse = None

BACKSLASH = 0x5C
# With fewer bytes the call costs more than it saves, and so it does for ASCII, which
# msgspec copies.
MIN_BYTES = 256


def is_plain(text: bytes) -> bool:
    """Return True if `text`, between quotes, is one JSON string without an escape."""
    if _parse is None or BACKSLASH in text:
        return False
    try:
        # In an array, because a string alone would be decoded. It is the only element:
        # the text may contain quotes that end it, and begin another one.
        return len(_parse(b"[%b]" % text)) == 1  # type: ignore[arg-type]
    except (ValueError, RuntimeError):
        return False
