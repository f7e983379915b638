"""Any bytes wherever a refusal could quote them.

Every explanation is one line of printable ASCII of bounded length, does not depend on
the text, and contains nothing that could be a key.
"""

import json
import re

from readback.api.endpoints.near_misses import explain_not_found
from readback.api.endpoints.presented_key import credentials_in, presented_key
from readback.api.endpoints.refusal import examine, explain
from readback.api.endpoints.request_info import explain_media_type
from readback.api.http.head import Head
from readback.contract import MAX_BODY_BYTES, REFUSALS
from readback.keys import KEY_LIKE

_SENTENCE = re.compile(r"[\x21-\x7e][\x20-\x7e]{10,998}[.?]")


def check(data: bytes) -> None:
    body = data[:MAX_BODY_BYTES]
    detail = _detail_of(body)
    _assert_text_makes_no_difference(body)
    method, _, target = data.partition(b" ")
    media_type = Head(method, target, [(b"content-type", data)], is_http_10=False)
    fields = [(name, data) for name in (b"authorization", b"cookie", b"x-api-key")]
    credentials = credentials_in(Head(method, target, fields, is_http_10=False))
    for sentence in (
        detail,
        explain_not_found(method, target, from_browser=data.endswith(b" ")).sentence,
        explain_media_type(media_type),
        presented_key(data, credentials.elsewhere).detail,
        credentials.key.detail if credentials.key else "",
    ):
        assert not sentence or _SENTENCE.fullmatch(sentence), repr(sentence)
        assert not KEY_LIKE.search(sentence), "the detail contains a key"


def _detail_of(body: bytes) -> str:
    """Return the detail of a refused body; empty if it is accepted."""
    findings = examine(body)
    if isinstance(findings, str):
        return ""
    explanation = explain(findings, "")
    assert explanation.code == findings[0].code in REFUSALS
    assert explanation.detail.startswith(findings[0].sentence)
    assert not KEY_LIKE.search(explanation.differences), "the differences contain a key"
    return explanation.detail


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
