"""Any bytes in each part of a request that a refusal could quote.

An explanation is one line of printable ASCII and has a maximum length. It does not
depend on the text, and contains no part of a head and nothing that could be a key.
"""

import json
import re

from readback import programs
from readback.api.endpoints.near_misses import explain_not_found
from readback.api.endpoints.presented_key import explain_invalid, explain_no_key
from readback.api.endpoints.refusal import examine, explain
from readback.api.endpoints.request_info import explain_media_type
from readback.contract import JOURNAL_DIFFERENCES_LENGTH, MAX_BODY_BYTES, REFUSALS
from readback.keys import KEY_LIKE
from tests.support.work import head_of

_SENTENCE = re.compile(r"[\x21-\x7e][\x20-\x7e]{10,998}[.?]")
# A secret in a head, which no explanation may contain.
_SECRET = b"Zq9Zq8Zq7Zq6Zq5"
_OF_HEAD = re.compile(r"[\x21-\x7e][\x20-\x7e]{10,398}[.?]")


def check(data: bytes) -> None:
    body = data[:MAX_BODY_BYTES]
    detail = _detail_of(body)
    assert not detail or _SENTENCE.fullmatch(detail), repr(detail)
    assert not KEY_LIKE.search(detail), "the detail contains a key"
    _assert_text_makes_no_difference(body)
    _check_head(data)


def _check_head(data: bytes) -> None:
    value = data + b" " + _SECRET
    method, _, target = value.partition(b" ")
    media_type = head_of(method, target, [(b"content-type", value)])
    fields = [(name, value) for name in (b"authorization", b"cookie", b"x-api-key")]
    no_key = [
        explain_no_key(head_of(method, target, sent)) for sent in (fields, fields[1:])
    ]
    miss = explain_not_found(method, target, from_browser=data.endswith(b" "))
    assert re.fullmatch(r"(/[a-z0-9/]+|base_url)?", miss.difference)
    for sentence in (
        miss.sentence,
        explain_media_type(media_type),
        explain_invalid(value),
        *no_key,
    ):
        assert not sentence or _OF_HEAD.fullmatch(sentence), repr(sentence)
        assert _SECRET.decode() not in sentence, "the detail quotes the head"
        assert not KEY_LIKE.search(sentence), "the detail contains a key"


def _detail_of(body: bytes) -> str:
    """Return the detail of a refused body; empty if it is accepted."""
    findings = examine(body)
    if isinstance(findings, str):
        return ""
    explanation = explain(findings, _user_agent(body))
    assert explanation.code == findings[0].code in REFUSALS
    assert explanation.detail.startswith(findings[0].sentence)
    assert len(explanation.differences) <= JOURNAL_DIFFERENCES_LENGTH
    assert not KEY_LIKE.search(explanation.differences), "the differences contain a key"
    return explanation.detail


def _user_agent(body: bytes) -> str:
    """Return the User-Agent of some program, so that the detail has a hint for it."""
    known = [row.user_agent for row in programs.table() if row.user_agent]
    return known[len(body) % len(known)].pattern.lstrip("^")


def _assert_text_makes_no_difference(body: bytes) -> None:
    """Compare the details for two texts of the same length and size."""
    try:
        document = json.loads(body)
        message = document["messages"][0]
        before = json.dumps(document, ensure_ascii=False).encode()
        message["content"] = message["content"][::-1]
        after = json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    assert _detail_of(before) == _detail_of(after), "the detail depends on the text"
