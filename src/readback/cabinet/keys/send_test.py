"""A test of a key that the cabinet's server sends to the API, as a program would.

Only ever to the API's public address. The result contains the exchange as it went over
the wire, without the key. The text and the key exist in memory only, until the page is
rendered.

The form is on the page of a new key and on the page of a key. The key is posted with
it: nothing else has it. Such a page calls `from_post` and includes send_test.html.
"""

import json
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from os.path import commonprefix
from typing import Any, NamedTuple

from allauth.core import ratelimit
from django.conf import settings

from readback import __version__, keys
from readback.cabinet.keys.recorded_exchange import RecordedExchange, post
from readback.cabinet.models import Key
from readback.cabinet.serving.visitors import AccountRequest
from readback.config import Config
from readback.contract import CHAT_PATH, MODEL, REFUSALS, ROLE, VERSION_PREFIX, Refusal
from readback.http_client import NoFreeSlot

# The journal knows the test by this name; programs.toml has it, too.
PROGRAM = "Readback-cabinet"
SAMPLE = "Ready to copy? Grüße, привет, γειά ✓"
# In UTF-16 units, as browsers count them. At most three bytes each, so that the form
# stays below DATA_UPLOAD_MAX_MEMORY_SIZE; the contract's limits are lower.
MAX_TEXT_LENGTH = 16_000
# No key is longer, and the rest of the head must have room.
_MAX_KEY_LENGTH = 1_000
# Of each head and each body, to keep the page small.
_SHOWN_BYTES = 2_000
# A shorter word could be a part of any other word.
_MIN_SECRET_LENGTH = 8
_HIDDEN_KEY = "[key]"
# Control and format characters (such as a change of direction), separators of lines,
# private use, lone surrogates and what is not assigned.
_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_LIMIT = "send_test"


class Outcome(StrEnum):
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REFUSED = "refused"
    FOREIGN = "foreign"  # a complete answer, but not the API's
    FAILED = "failed"  # no complete answer


class WireText(NamedTuple):
    """Bytes as text, with what is invisible made visible, and how many are left out."""

    text: str
    hidden_bytes: int


class ByteComparison(NamedTuple):
    """The bytes of a text that was sent, and of the one that came back."""

    sent: bytes
    received: bytes
    # The number of the first byte that differs, counted from 1, and what is there.
    position: int
    sent_there: str
    received_there: str

    @property
    def is_equal(self) -> bool:
        return self.sent == self.received


def _compared(sent: bytes, received: bytes) -> ByteComparison:
    same = len(commonprefix((sent, received)))
    there = [text[same : same + 4].hex(" ") or "–" for text in (sent, received)]
    return ByteComparison(sent, received, same + 1, *there)


@dataclass(frozen=True)
class SentTest:
    """An exchange and what it means, for a page, which shows it once."""

    exchange: RecordedExchange
    key: str
    outcome: Outcome
    # The row of the contract, if the answer is one of its refusals.
    refusal: Refusal | None
    # What the API says about this request beside the code.
    detail: str
    # None if there is no text in the answer.
    comparison: ByteComparison | None
    # What was sent and what came back, each as its head and its body.
    messages: list[tuple[str, list[WireText]]]

    @property
    def is_trouble(self) -> bool:
        """Whether the API was not reached, which is not because of the key."""
        return self.outcome in (Outcome.FOREIGN, Outcome.FAILED)

    @property
    def milliseconds(self) -> int:
        return max(round(self.exchange.seconds * 1000), 1)


def run(key: str, text: str) -> SentTest:
    """Send the text to the API; raise `NoFreeSlot` if many are doing so."""
    key = " ".join(key.split())[:_MAX_KEY_LENGTH]
    message = {"role": ROLE, "content": text}
    body = json.dumps({"model": MODEL, "messages": [message]}, ensure_ascii=False)
    headers: dict[str, str | bytes] = {
        "User-Agent": f"{PROGRAM}/{__version__}",
        "Authorization": b"Bearer " + _utf8(key),
        "Content-Type": "application/json",
        "Connection": "close",
    }
    exchange = post(*_target(settings.CONFIG), headers, _utf8(body))
    return _understood(exchange, key, text)


def _understood(exchange: RecordedExchange, key: str, text: str) -> SentTest:
    response = exchange.response
    status = response.status if response else 0
    try:
        document = json.loads(exchange.body.decode())
    except (ValueError, RecursionError):
        document = None
    refusal = REFUSALS.get(str(_member(document, "error", "code")))
    if refusal and refusal.status != status:
        refusal = None
    content = _member(document, "choices", 0, "message", "content")
    comparison = None
    if status == HTTPStatus.OK and isinstance(content, str):
        comparison = _compared(_utf8(text), _utf8(content))
    if exchange.problem or not status:
        outcome = Outcome.FAILED
    elif refusal:
        outcome = Outcome.REFUSED
    elif comparison:
        outcome = Outcome.UNCHANGED if comparison.is_equal else Outcome.CHANGED
    else:
        outcome = Outcome.FOREIGN
    detail = response.getheader("X-Error-Detail", "") if response else ""
    sides = ("sent", exchange.sent), ("received", exchange.received)
    return SentTest(
        exchange,
        key,
        outcome,
        refusal,
        _shown(detail.encode("latin-1", "replace"), key).text,
        comparison,
        [
            (side, [_shown(part, key) for part in data.split(b"\r\n\r\n", 1) if part])
            for side, data in sides
            if data
        ],
    )


def _shown(data: bytes, key: str) -> WireText:
    """Return what is shown of the bytes. The key is cut out before the end is."""
    is_ours = key.startswith(keys.PREFIX) and len(key) == keys.LENGTH
    mask = keys.masked(keys.last_characters(key)) if is_ours else _HIDDEN_KEY
    data = data.replace(b"Bearer " + _utf8(key), b"Bearer " + _utf8(mask))
    if len(_utf8(key)) >= _MIN_SECRET_LENGTH:
        data = data.replace(_utf8(key), _utf8(mask))
    end = min(_SHOWN_BYTES, len(data))
    while end < len(data) and data[end] & 0xC0 == 0x80:  # inside of a character
        end += 1
    return WireText(visible(data[:end]), len(data) - end)


def visible(data: bytes) -> str:
    """Return bytes as text in which every character can be seen, and does nothing."""
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in _INVISIBLE
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _target(config: Config) -> tuple[str, str]:
    """Return the URL of the API, and its unix socket if it has only that."""
    url = config.base_url + CHAT_PATH.removeprefix(VERSION_PREFIX)
    paths = [bind.path for bind in config.api_bind]
    is_local = not config.public_base_url and all(paths)
    return url, paths[0] if is_local else ""


def _member(document: Any, *names: str | int) -> Any:
    """Return a member of parsed JSON, or None if something on the way is missing."""
    for name in names:
        try:
            document = document[name]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _utf8(text: str) -> bytes:
    # JSON can contain lone surrogates, which have no UTF-8 form of their own.
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class SubmittedTest:
    """The content of the form, and what became of it."""

    text: str = SAMPLE
    max_length: int = MAX_TEXT_LENGTH
    result: SentTest | None = None
    # Why nothing was sent: "limited" (this account or address), "busy" (this server).
    obstacle: str = ""
    is_other_key: bool = False

    @property
    def status(self) -> int:
        return HTTPStatus.TOO_MANY_REQUESTS if self.obstacle else HTTPStatus.OK

    @property
    def is_submitted(self) -> bool:
        return bool(self.result or self.obstacle)


def from_post(request: AccountRequest, key: Key) -> SubmittedTest:
    if request.method != "POST":
        return SubmittedTest()
    # Browsers send every line break in a form as CR LF.
    text = request.POST.get("text", "").replace("\r\n", "\n")
    if not ratelimit.consume(request, action=_LIMIT):
        return SubmittedTest(text, obstacle="limited")
    try:
        result = run(request.POST.get("key", ""), text)
    except NoFreeSlot:
        return SubmittedTest(text, obstacle="busy")
    return SubmittedTest(text, result=result, is_other_key=not is_key(key, result.key))


def is_key(key: Key, text: str) -> bool:
    return keys.digest(text.encode("utf-8", "replace")) == bytes(key.digest)
