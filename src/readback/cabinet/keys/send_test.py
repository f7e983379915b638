"""A test of a key that the cabinet's server sends to the API, as a program would.

Only ever to the API's public address. The text and the key exist in memory only, until
the page is rendered.

The form is on the page of a new key and on the page of a key. The key is posted with
it: nothing else has it. Such a page calls `from_post` and includes send_test.html.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead
from socket import AF_UNIX
from typing import Any, NamedTuple

from allauth.core import ratelimit
from django.conf import settings

from readback import __version__, http_client, keys
from readback.cabinet.models import Key
from readback.cabinet.serving.visitors import AccountRequest
from readback.config import Config
from readback.contract import CHAT_PATH, MODEL, REFUSALS, ROLE, VERSION_PREFIX, Refusal
from readback.http_client import AnswerTooLarge, NoFreeSlot, Slots, SocketAddress

# The journal knows the test by this name; programs.toml has it, too.
PROGRAM = "Readback-cabinet"
SAMPLE = "Ready to copy? Grüße, привет, γειά ✓"
# In UTF-16 units, as browsers count them. At most three bytes each, so that the form
# stays below DATA_UPLOAD_MAX_MEMORY_SIZE; the contract's limits are lower.
MAX_TEXT_LENGTH = 16_000
# No key is longer, and the rest of the head must have room.
_MAX_KEY_LENGTH = 1_000
# From the look-up of the name to the last byte of the answer.
SECONDS = 5.0
# How much longer a page waits for an exchange that should have ended.
_GRACE_SECONDS = 1.0
# Per process, which has eight threads for pages.
MAX_AT_ONCE = 2
# Of an answer that is not the API's, to keep the page small.
_SHOWN_CHARACTERS = 500
_HIDDEN_KEY = "[key]"
_LIMIT = "send_test"

_slots = Slots(MAX_AT_ONCE)


class Outcome(StrEnum):
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REFUSED = "refused"
    FOREIGN = "foreign"  # a complete answer, but not the API's
    FAILED = "failed"  # no complete answer


class SentTest(NamedTuple):
    """What became of a test, for a page, which shows it once."""

    outcome: Outcome
    # The text that came back, what the API says about its refusal, the beginning of an
    # answer that is not the API's, or why there is none.
    answer: str
    status: int = 0
    # The row of the contract, if the answer is one of its refusals.
    refusal: Refusal | None = None

    @property
    def is_trouble(self) -> bool:
        """Whether the API was not reached, which is not because of the key."""
        return self.outcome in (Outcome.FOREIGN, Outcome.FAILED)


def run(key: str, text: str) -> SentTest:
    """Send the text to the API; raise `NoFreeSlot` if many are doing so."""
    message = {"role": ROLE, "content": text}
    body = json.dumps({"model": MODEL, "messages": [message]}, ensure_ascii=False)
    headers: dict[str, str | bytes] = {
        "User-Agent": f"{PROGRAM}/{__version__}",
        "Authorization": f"Bearer {key}".encode(),
        "Content-Type": "application/json",
    }
    url, address = _target(settings.CONFIG)
    send = partial(
        http_client.send,
        *("POST", url, SECONDS),
        address=address,
        headers=headers,
        body=body.encode(),
    )
    try:
        # The look-up of the name has no deadline of its own.
        answer = _slots.run(send, SECONDS + _GRACE_SECONDS)
    except (OSError, HTTPException, ValueError) as error:
        return SentTest(Outcome.FAILED, _problem(error))
    understood = _understood(answer, text)
    return understood._replace(answer=_shown(understood.answer, key))


def _understood(answer: http_client.Answer, text: str) -> SentTest:
    status = answer.status
    try:
        document = json.loads(answer.body.decode())
    except (ValueError, RecursionError):
        document = None
    refusal = REFUSALS.get(str(_member(document, "error", "code")))
    if refusal and refusal.status == status:
        detail = answer.headers.get("X-Error-Detail", "")
        return SentTest(Outcome.REFUSED, detail, status, refusal)
    content = _member(document, "choices", 0, "message", "content")
    if status == HTTPStatus.OK and isinstance(content, str):
        outcome = Outcome.UNCHANGED if content == text else Outcome.CHANGED
        return SentTest(outcome, content, status)
    return SentTest(Outcome.FOREIGN, answer.body.decode(errors="replace"), status)


def _shown(text: str, key: str) -> str:
    """Return the beginning of a text, in which every character is visible."""
    if len(key) >= keys.LENGTH:
        text = text.replace(key, _HIDDEN_KEY)
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _problem(error: Exception) -> str:
    """Return why there is no complete answer, in English."""
    match error:
        case AnswerTooLarge():
            return "The answer is too large for the API."
        case TimeoutError():
            return f"No complete answer within {SECONDS:g} seconds."
        case ConnectionResetError() | IncompleteRead():
            return "The connection was closed before the answer was complete."
        case OSError():  # what the operating system or OpenSSL says about it
            names = ("verify_message", "reason", "strerror")
            said = filter(None, (getattr(error, name, "") for name in names))
            return f"{next(said, error)}."
        case _:
            return "The answer is not HTTP."


def _target(config: Config) -> tuple[str, SocketAddress | None]:
    """Return the URL of the API, and its unix socket if it has only that."""
    url = config.base_url + CHAT_PATH.removeprefix(VERSION_PREFIX)
    paths = [bind.path for bind in config.api_bind]
    is_local = not config.public_base_url and all(paths)
    return url, (AF_UNIX, paths[0]) if is_local else None


def _member(document: Any, *names: str | int) -> Any:
    """Return a member of parsed JSON, or None if something on the way is missing."""
    for name in names:
        try:
            document = document[name]
        except (KeyError, IndexError, TypeError):
            return None
    return document


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
    entered = " ".join(request.POST.get("key", "").split())[:_MAX_KEY_LENGTH]
    if not ratelimit.consume(request, action=_LIMIT):
        return SubmittedTest(text, obstacle="limited")
    try:
        result = run(entered, text)
    except NoFreeSlot:
        return SubmittedTest(text, obstacle="busy")
    return SubmittedTest(text, result=result, is_other_key=not is_key(key, entered))


def is_key(key: Key, text: str) -> bool:
    return keys.digest(text.encode("utf-8", "replace")) == bytes(key.digest)
