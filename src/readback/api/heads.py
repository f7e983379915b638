"""Heads that have come before are recognised, not parsed again.

Clients send few different heads, and equal bytes mean the same on any connection.
And a head that differs from a known one in nothing but its key is as good: so a flood
of made-up keys, each of which makes a new head, costs little more than one key would.
"""

import re
from typing import TypeVar

from readback.api.head import Head, check_begun, parse

K = TypeVar("K")

# How many heads are kept, and how large one may be for that.
_HEADS_KEPT = 512
_USUAL_BYTES = 2048
# The key where it belongs, on a line of its own. Letters, digits, - and _ make no
# difference to the parser, whichever they are.
_KEY = re.compile(rb"\r\n[Aa]uthorization: Bearer ([0-9A-Za-z_-]{1,100})\r\n")

_known: dict[bytes, Head] = {}
# By where the key stands, and the bytes around it.
_frames: dict[tuple[int, bytes], Head] = {}


def read_head(data: bytes, seen: int) -> Head:
    """Read a whole head, of which `seen` bytes have been checked, or raise."""
    head = _known.get(data)
    if head is not None:
        return head
    if len(data) > _USUAL_BYTES:
        check_begun(data, seen)
        return parse(data)
    found = _KEY.search(data)
    head = _but_for_the_key(data, found) if found else None
    if head is None:
        check_begun(data, seen)
        head = parse(data)
        if found and len(head.all(b"authorization")) == 1:
            _keep(_frames, (found.start(1), _around(data, found)), head)
    _keep(_known, data, head)
    return head


def _but_for_the_key(data: bytes, found: re.Match[bytes]) -> Head | None:
    like = _frames.get((found.start(1), _around(data, found)))
    return like.with_key(found[1]) if like else None


def _around(data: bytes, found: re.Match[bytes]) -> bytes:
    return data[: found.start(1)] + data[found.end(1) :]


def _keep(kept: dict[K, Head], key: K, head: Head) -> None:
    if len(kept) >= _HEADS_KEPT:
        kept.clear()
    kept[key] = head
