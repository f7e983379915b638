"""JSON as the contract wants it: UTF-8, RFC 8259, no repeated name, no lone surrogate.

Numbers stay as they are written. Runs only for bodies that are about to be refused;
`chat.py` decodes the others.
"""

import json
import re
from typing import Any, NoReturn

# RFC 8259 §9 allows a limit. Without one, it would be Python's recursion limit, and the
# verdict would depend on how deep the stack happens to be.
_MAX_NESTING = 500
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


class NotJson(Exception):
    """The bytes are not the JSON of the contract; the text says why."""


class Number(str):
    """A number as it is written, so that neither its size nor its form gets lost."""


def load(body: bytes) -> Any:
    """Return the document, or raise `NotJson`."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not valid UTF-8") from None
    if text.startswith("\ufeff"):
        raise NotJson("it begins with a byte order mark")
    if not text.strip(" \t\r\n"):
        raise NotJson("it is empty")
    if _is_nested_too_deeply(text):
        raise NotJson("it is nested too deeply")
    try:
        document = _DECODER.decode(text)
        if "\\u" in text:  # A lone surrogate cannot be encoded as UTF-8.
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise NotJson(f"the error is at character {error.pos}") from None
    except UnicodeEncodeError:
        raise NotJson("a string contains a lone surrogate") from None
    return document


def _is_nested_too_deeply(text: str) -> bool:
    if text.count("[") + text.count("{") <= _MAX_NESTING:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > _MAX_NESTING:
            return True
    return False


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not part of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise NotJson("a field name appears twice in an object")
        found[name] = value
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=Number,
    parse_float=Number,
    parse_constant=_refuse_constant,
)
