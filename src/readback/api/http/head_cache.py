"""Heads that have come before are recognised, not parsed again.

Clients send few different heads, and equal bytes mean the same on any connection. The
key is cut out before, where it stands plainly in its line: so a flood of made-up keys,
each of which makes a new head, costs little more than one key would, and no key is
kept here.
"""

from readback.api.http.head import Head, check_begun, parse

# How many heads are kept, and how large one may be for that.
_HEADS_KEPT = 512
_USUAL_BYTES = 2048
# What stands before the key in its line, but for the first letter, small or large.
_MARK = b"uthorization: Bearer "
_LINE_BEGINS = (b"\r\nA", b"\r\na")
# What a key is made of makes no difference to the parser, if it is of these.
_PLAIN = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

# By what stands before the mark, and behind the line of the key.
_known: dict[tuple[bytes, bytes], Head] = {}


def read_head(data: bytes, seen: int) -> tuple[Head, bytes]:
    """Read a whole head, of which `seen` bytes have been checked, or raise.

    Gives the head without the key, and the key; or, if the key does not stand
    plainly, the head as it is, and nothing.
    """
    before, mark, rest = data.partition(_MARK)
    key, _, after = rest.partition(b"\r\n")
    head = _known.get((before, after))
    plain = not key.translate(None, _PLAIN)
    if head is not None and plain:
        return head, key
    check_begun(data, seen)
    if mark and not (plain and before.endswith(_LINE_BEGINS)):
        return parse(data), b""
    head = parse(before + mark + b"\r\n" + after if mark else data)
    if len(data) <= _USUAL_BYTES:
        if len(_known) >= _HEADS_KEPT:
            _known.clear()
        _known[before, after] = head
    return head, key
