"""A test of a key: the cabinet sends a request to the API as a program would.

The request goes to the API's public address. The form is on the page of a new key, and
contains the key. Neither the key nor the text is stored anywhere.
"""

import json
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from allauth.core import ratelimit
from django.conf import settings

from readback import __version__, http_client
from readback.cabinet.serving.visitors import AccountRequest
from readback.contract import CHAT_PATH, MODEL, REFUSALS, ROLE, VERSION_PREFIX, Refusal

# The journal identifies the test by this name, which is also in programs.toml.
PROGRAM = "Readback-cabinet"
SAMPLE = "Ready to copy? Grüße, привет, γειά ✓"
# Browsers count UTF-16 units, each of at most three bytes in UTF-8. The form must stay
# below DATA_UPLOAD_MAX_MEMORY_SIZE; the contract's limits are lower.
MAX_TEXT_LENGTH = 16_000
# Seconds from the connection to the last byte of the answer.
SECONDS = 5.0
# How much longer a page waits, because the host name has to be looked up, too.
_GRACE_SECONDS = 1.0
# Per process, each of which has eight threads for pages.
MAX_AT_ONCE = 2
_SHOWN_CHARACTERS = 500

_slots = http_client.Slots(MAX_AT_ONCE)


class Outcome(StrEnum):
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REFUSED = "refused"
    FAILED = "failed"  # no complete answer, or one that is not the API's
    NOT_SENT = "not sent"  # too many tests by this account or address, or at once


class KeyTest(NamedTuple):
    text: str = SAMPLE
    max_length: int = MAX_TEXT_LENGTH
    # None before the test.
    outcome: Outcome | None = None
    status: int = 0
    # Depending on the outcome: the text that came back, the detail of a refusal, the
    # beginning of an answer that is not the API's, or why there is no answer.
    answer: str = ""
    # The row of the contract, if the answer is one of its refusals.
    refusal: Refusal | None = None


def from_post(request: AccountRequest, key: str) -> KeyTest:
    """Send a test if the form was submitted, and return its result."""
    if request.method != "POST":
        return KeyTest()
    # Browsers send each line break in a form as CR LF.
    test = KeyTest(request.POST.get("text", "").replace("\r\n", "\n"))
    if not ratelimit.consume(request, action="send_test"):
        return test._replace(outcome=Outcome.NOT_SENT)
    try:
        # The lookup of the host name has no timeout of its own.
        sent = _slots.run(partial(_send, key, test.text), SECONDS + _GRACE_SECONDS)
        test = _understood(sent, test)
    except http_client.NoFreeSlot:
        return test._replace(outcome=Outcome.NOT_SENT)
    except http_client.ERRORS as error:
        reason = str(error) or type(error).__name__
        test = test._replace(outcome=Outcome.FAILED, answer=reason)
    return test._replace(answer=_shown(test.answer, key))


def _send(key: str, text: str) -> http_client.Answer:
    url = settings.CONFIG.base_url + CHAT_PATH.removeprefix(VERSION_PREFIX)
    message = {"role": ROLE, "content": text}
    body = json.dumps({"model": MODEL, "messages": [message]}, ensure_ascii=False)
    headers = {
        "User-Agent": f"{PROGRAM}/{__version__}",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
    }
    return http_client.send("POST", url, SECONDS, headers=headers, body=body.encode())


def _understood(answer: http_client.Answer, test: KeyTest) -> KeyTest:
    test = test._replace(status=answer.status)
    try:
        document = json.loads(answer.body.decode())
    except (ValueError, RecursionError):
        document = None
    refusal = REFUSALS.get(str(_member(document, "error", "code")))
    if refusal and refusal.status == answer.status:
        detail = answer.headers.get("X-Error-Detail", "")
        return test._replace(outcome=Outcome.REFUSED, answer=detail, refusal=refusal)
    content = _member(document, "choices", 0, "message", "content")
    if answer.status == HTTPStatus.OK and isinstance(content, str):
        is_same = content == test.text
        outcome = Outcome.UNCHANGED if is_same else Outcome.CHANGED
        return test._replace(outcome=outcome, answer=content)
    beginning = answer.body.decode(errors="replace")
    return test._replace(outcome=Outcome.FAILED, answer=beginning)


def _member(document: Any, *names: str | int) -> Any:
    """Return a member of parsed JSON, or None if any part of the path is missing."""
    for name in names:
        try:
            document = document[name]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _shown(text: str, key: str) -> str:
    """Return the beginning of a text; hide the key and escape invisible characters."""
    text = text.replace(key, "[key]")
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
