"""Any bytes as the body of a chat request.

The decoder, `examine`, and a reference that shares no code with them accept the same
bodies.
"""

import json
from typing import Any

from readback.api.endpoints.exchange import decode
from readback.api.endpoints.refusal import examine
from readback.contract import MAX_BODY_BYTES


def check(data: bytes) -> None:
    body = data[:MAX_BODY_BYTES]
    result = examine(body)
    text = result if isinstance(result, str) else None
    assert text == _reference(body), "the reference differs"
    decoded = decode(body)
    if text is None or decoded is None:
        assert text is decoded, "the decoder and the examination differ"
    else:
        written, size = decoded
        assert written in body and json.loads(written) == text
        assert size == len(text.encode())


class _Invalid(Exception):
    """The reference does not accept a body."""


def _reference(body: bytes) -> str | None:
    """Return the text of a body that follows the contract, else None."""
    try:
        document = json.loads(
            body.decode(),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=lambda digits: ("int", digits),
            parse_float=_refuse,
        )
        json.dumps(document, ensure_ascii=False).encode()  # fails for lone surrogates
    except (ValueError, RecursionError, _Invalid):
        return None
    return _text(document) if isinstance(document, dict) else None


def _text(document: dict[str, Any]) -> str | None:
    allowed = {"model", "messages", "stream", "max_tokens"}
    if not {"model", "messages"} <= set(document) <= allowed:
        return None
    content = _content(document["messages"])
    if document["messages"] != [{"role": "user", "content": content}]:
        return None
    kept = (
        document["model"] == "vendor-cabinet-preview-echo"
        and document.get("stream", False) is False
        and document.get("max_tokens", ("int", "2000")) == ("int", "2000")
        and 0 < len(content.encode()) <= 8192
    )
    return content if kept else None


def _content(messages: Any) -> str:
    try:
        content = messages[0]["content"]
    except (LookupError, TypeError):
        return ""
    return content if isinstance(content, str) else ""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _Invalid
    return dict(pairs)


def _refuse(number: str) -> Any:
    raise _Invalid
