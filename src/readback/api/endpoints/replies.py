"""Answers as bytes: status lines, headers, the success and every refusal.

Whatever does not change between two answers is rendered before the first: once at
start, or once a second where the date is part of it. Bytes of a request never get
into a header. Deciding what to answer happens elsewhere.
"""

import json
import os
import struct
from email.utils import formatdate

from readback.contract import (
    BYTES_PER_TOKEN,
    MAX_CONTENT_BYTES,
    MODEL,
    REFUSALS,
    Refusal,
)

_HEADERS = (
    "Content-Type: application/json\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
)
_REALM = "WWW-Authenticate: Bearer\r\n"
_REFUSALS_KEPT = 256
_IDS_AT_ONCE = 256
_ID_LENGTH = 36
_SPLIT_IDS = struct.Struct(f"{_ID_LENGTH}s" * _IDS_AT_ONCE).unpack
_TO_VARIANT = bytes.maketrans(b"0123456789abcdef", b"89ab" * 4)


def _usage(tokens: int) -> bytes:
    return (
        b'},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,'
        b'"completion_tokens":%d,"total_tokens":%d}}'
    ) % (tokens, tokens, tokens + tokens)


def _length(size: int) -> bytes:
    return b'\r\nContent-Length: %d\r\n\r\n{"id":"' % size


# The success, cut where it changes: the length for all usual sizes, the end for every
# number of tokens there is.
_LENGTHS = [_length(size) for size in range(2048)]
_BEFORE_CREATED = b'","object":"chat.completion","created":'
_BEFORE_CONTENT = (
    b',"model":"%b","choices":[{"index":0,"message":{"role":"assistant","content":'
) % MODEL.encode()
_FIXED_SIZE = len(b'{"id":"') + _ID_LENGTH + len(_BEFORE_CREATED) + len(_BEFORE_CONTENT)
_USAGE = [
    _usage(tokens) for tokens in range(-(-MAX_CONTENT_BYTES // BYTES_PER_TOKEN) + 1)
]


class Replies:
    """Renders answers; one per worker, because it knows the time and draws ids."""

    def __init__(self, help_url: str = "", with_messages: bool = False) -> None:
        self._help_url = help_url
        self._with_messages = with_messages
        self._ids: list[bytes] = []
        self._moment_of, self._moment = 0, b"0"
        # What stands before and behind the id of a refusal, until the next tick.
        self._halves: dict[tuple[str, str, int], tuple[bytes, bytes]] = {}
        self._refusals = {row.code: self._render(row) for row in REFUSALS.values()}
        self.tick(0.0)

    def tick(self, wall: float) -> None:
        """Render anew what changes with the clock; to be called every second."""
        self._date = formatdate(wall, usegmt=True)
        ok = f"HTTP/1.1 200 OK\r\nDate: {self._date}\r\n{_HEADERS}X-Request-Id: "
        self._ok = ok.encode()
        self._halves.clear()

    def new_id(self) -> bytes:
        """Draw a random UUID (version 4)."""
        if not self._ids:
            self._ids = _draw_ids()
        return self._ids.pop()

    def completion(self, content: bytes, created: int, tokens: int) -> bytes:
        """Render the success; `content` is the text as a JSON string."""
        id_ = self._ids.pop() if self._ids else self.new_id()
        if created != self._moment_of:  # Under load it is the same for a while.
            self._moment_of, self._moment = created, b"%d" % created
        moment = self._moment
        usage = _USAGE[tokens]
        size = _FIXED_SIZE + len(moment) + len(content) + len(usage)
        # One join of parts: measured at a third of the time of formatting.
        return b"".join(
            (
                self._ok,
                id_,
                _LENGTHS[size] if size < len(_LENGTHS) else _length(size),
                id_,
                _BEFORE_CREATED,
                moment,
                _BEFORE_CONTENT,
                content,
                usage,
            )
        )

    def ok(self, body: bytes) -> bytes:
        """Render a success with a constant body."""
        return b"%b%b\r\nContent-Length: %d\r\n\r\n%b" % (
            self._ok,
            self.new_id(),
            len(body),
            body,
        )

    def refusal(self, code: str, detail: str = "", retry_after: int = 0) -> bytes:
        """Render a refusal; the detail must be printable ASCII without the text."""
        halves = self._halves.get((code, detail, retry_after))
        if halves is None:
            halves = self._around_id(code, detail, retry_after)
            if len(self._halves) < _REFUSALS_KEPT:
                self._halves[code, detail, retry_after] = halves
        return self.new_id().join(halves)

    def _around_id(
        self, code: str, detail: str, retry_after: int
    ) -> tuple[bytes, bytes]:
        status_line, headers, body = self._refusals[code]
        sentence = detail or REFUSALS[code].sentence
        if self._with_messages:
            body = json.dumps(
                {"error": {"code": code, "message": sentence}}, separators=(",", ":")
            )
        wait = f"Retry-After: {retry_after}\r\n" if retry_after else ""
        before = f"{status_line}Date: {self._date}\r\n{headers}{wait}X-Request-Id: "
        after = (
            f"\r\nX-Error-Detail: {sentence}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )
        return before.encode(), after.encode()

    def _render(self, row: Refusal) -> tuple[str, str, str]:
        headers = _HEADERS + (_REALM if row.code == "invalid_key" else "")
        if self._help_url:
            headers += f'Link: <{self._help_url}#{row.code}>; rel="help"\r\n'
        status_line = f"HTTP/1.1 {row.status.value} {row.reason}\r\n"
        return status_line, headers, f'{{"error":{{"code":"{row.code}"}}}}'


def _draw_ids() -> list[bytes]:
    """Draw many ids at once: each step below is one pass over all of them."""
    # Groups of four digits: g0g1-g2-g3-g4-g5g6g7 once some dashes are gone.
    text = bytearray(os.urandom(16 * _IDS_AT_ONCE).hex("-", 2) + "-", "ascii")
    for place in (4, 29, 34, 39):
        text[place::40] = b"x" * _IDS_AT_ONCE
    # RFC 9562 §5.4: the version, and a variant whose two highest bits are 10.
    text[15::40] = b"4" * _IDS_AT_ONCE
    text[20::40] = text[20::40].translate(_TO_VARIANT)
    return list(_SPLIT_IDS(text.translate(None, b"x")))
