"""Render answers as bytes, both successful ones and refusals.

Parts that many answers share are rendered in advance, at startup or at each tick.
No byte of a request is copied into a header.
"""

import json
import os
import struct
from email.utils import formatdate
from itertools import chain

from readback.contract import (
    BYTES_PER_TOKEN,
    EARLIEST_CREATED,
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
_IDS_AT_ONCE = 256
_ID_LENGTH = 36
_SPLIT_IDS = struct.Struct(f"{_ID_LENGTH}s" * _IDS_AT_ONCE).unpack
_TO_VARIANT = bytes.maketrans(b"0123456789abcdef", b"89ab" * 4)


def _usage(tokens: int) -> bytes:
    return (
        b'},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,'
        b'"completion_tokens":%d,"total_tokens":%d}}'
    ) % (tokens, tokens, tokens + tokens)


# A successful answer, split where answers differ. Every `created` has ten digits, so
# the length of an answer follows from the length of its text.
_MIDDLE = (
    b'","object":"chat.completion","created":%%d,"model":"%b","choices":'
    b'[{"index":0,"message":{"role":"assistant","content":'
) % MODEL.encode()
_AFTER_ID = b'\r\nContent-Length: %d\r\n\r\n{"id":"'
_FIXED_SIZE = len(b'{"id":"') + _ID_LENGTH + len(_MIDDLE % EARLIEST_CREATED)
# The end of a successful answer, indexed by the size of its text.
_USAGE = [_usage(0)]
for _tokens in range(1, -(-MAX_CONTENT_BYTES // BYTES_PER_TOKEN) + 1):
    _USAGE += [_usage(_tokens)] * BYTES_PER_TOKEN


class Replies:
    def __init__(self, help_url: str = "", with_messages: bool = False) -> None:
        self._help_url = help_url
        self._with_messages = with_messages
        self._ids = chain.from_iterable(iter(_draw_ids, None))
        self._refusals = {row.code: self._render(row) for row in REFUSALS.values()}
        self.tick(0.0)

    def tick(self, wall: float) -> None:
        """Render the parts that contain the date; called at least once a second."""
        self._date = formatdate(wall, usegmt=True)
        ok = f"HTTP/1.1 200 OK\r\nDate: {self._date}\r\n{_HEADERS}X-Request-Id: "
        self._ok = ok.encode()

    def completion(self, text: bytes, size: int, created: int) -> bytes:
        """Return a successful answer. `text` is JSON; `size` is its decoded size."""
        id_ = next(self._ids)
        usage = _USAGE[size]
        length = _AFTER_ID % (_FIXED_SIZE + len(text) + len(usage))
        # Joining is faster than formatting (measured).
        return b"".join((self._ok, id_, length, id_, _MIDDLE % created, text, usage))

    def ok(self, body: bytes) -> bytes:
        id_ = next(self._ids)
        parts = (self._ok, id_, len(body), body)
        return b"%b%b\r\nContent-Length: %d\r\n\r\n%b" % parts

    def refusal(
        self,
        code: str,
        detail: str = "",
        retry_after: int = 0,
        explained: bool = False,
        request_id: str = "",
    ) -> bytes:
        """Return a refusal; if it is `explained`, its body contains the detail, too.

        The detail must be printable ASCII and must not quote the text.
        """
        status_line, headers, body = self._refusals[code]
        sentence = detail or REFUSALS[code].sentence
        if explained or self._with_messages:
            body = json.dumps(
                {"error": {"code": code, "message": sentence}}, separators=(",", ":")
            )
        wait = f"Retry-After: {retry_after}\r\n" if retry_after else ""
        id_ = request_id or self.new_id()
        answer = (
            f"{status_line}Date: {self._date}\r\n{headers}{wait}"
            f"X-Request-Id: {id_}\r\nX-Error-Detail: {sentence}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        )
        return answer.encode()

    def new_id(self) -> str:
        return next(self._ids).decode()

    def _render(self, row: Refusal) -> tuple[str, str, str]:
        headers = _HEADERS + (_REALM if row.code == "invalid_key" else "")
        if self._help_url:
            headers += f'Link: <{self._help_url}#{row.code}>; rel="help"\r\n'
        status_line = f"HTTP/1.1 {row.status.value} {row.reason}\r\n"
        return status_line, headers, f'{{"error":{{"code":"{row.code}"}}}}'


def _draw_ids() -> list[bytes]:
    """Return many random UUIDs at once; each statement handles all of them."""
    # A UUID is eight groups of four digits. Some of the dashes are removed at the end.
    text = bytearray(os.urandom(16 * _IDS_AT_ONCE).hex("-", 2) + "-", "ascii")
    for place in (4, 29, 34, 39):
        text[place::40] = b"x" * _IDS_AT_ONCE
    # RFC 9562 §5.4: the version, and a variant that begins with the bits 10.
    text[15::40] = b"4" * _IDS_AT_ONCE
    text[20::40] = text[20::40].translate(_TO_VARIANT)
    return list(_SPLIT_IDS(text.translate(None, b"x")))
