"""The slow pass: which rule of the contract a body breaks first, and how.

Runs only if the fast pass in `chat.py` has not accepted the body. The order of the
checks is the order of the table in docs/contract.md. Details name fields, limits and
kinds of values, but never quote the text or anything that could be a key: they become a
header.
"""

import json
import re
from typing import Any, NoReturn

from readback.api.http.refused import Refused
from readback.contract import (
    MAX_CONTENT_BYTES,
    MAX_TOKENS,
    MESSAGE_FIELDS,
    MODEL,
    REQUEST_FIELDS,
    REQUIRED_FIELDS,
    ROLE,
)
from readback.keys import KEY_LIKE

# Field names and model ids are quoted only if they have this form.
_QUOTABLE = re.compile(r"[A-Za-z0-9_.:/-]{1,40}")
_OTHER_ROLES = ("system", "assistant", "developer", "tool")
_MAX_QUOTED_DIGITS = 20
# RFC 8259 §9 allows a limit. Without one, it would be Python's recursion limit, and the
# verdict would depend on how deep the stack happens to be.
_MAX_NESTING = 500
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")

# Why common clients send a field, and how to turn that off.
_ADVICE = {
    "temperature": "Leave temperature unset; LlamaIndex sends it unless "
    "additional_kwargs={'temperature': openai.omit}.",
    "max_completion_tokens": "LangChain, pydantic-ai and DSPy send it for max_tokens: "
    f"omit that option, or use extra_body={{'max_tokens': {MAX_TOKENS}}}.",
    "stream_options": "Turn off streaming in your program.",
    "n": "Leave n unset; Haystack needs generation_kwargs={'n': openai.omit}.",
    "tools": "Turn off tools; with instructor, use response_model=None.",
    "tool_choice": "Turn off tools; with instructor, use response_model=None.",
    "functions": "Turn off function calling.",
    "response_format": "Turn off structured output.",
    "name": "With AutoGen, set include_name_in_message=False.",
}


def examine(body: bytes) -> str:
    """Return the text if every rule is kept after all, or raise `Refused`."""
    request = _load(body)
    if not isinstance(request, dict):
        raise Refused(
            "invalid_json", f"The body must be a JSON object; got {_kind(request)}."
        )
    _refuse_unknown(request, REQUEST_FIELDS, "the body", "")
    _require(request, REQUIRED_FIELDS, "")
    _check_model(request["model"])
    content = _check_messages(request["messages"])
    if "stream" in request and request["stream"] is not False:
        got = _kind(request["stream"])
        detail = f"stream must be false or omitted; got {got}. Turn off streaming."
        raise Refused("stream_unavailable", detail)
    if "max_tokens" in request:
        _check_max_tokens(request["max_tokens"])
    return content


class _Number(str):
    """A number as it is written, so that neither its size nor its form gets lost."""


def _load(body: bytes) -> Any:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _not_json(f"byte {error.start} is not valid UTF-8") from None
    if text.startswith("\ufeff"):
        raise _not_json("it begins with a byte order mark")
    if not text.strip(" \t\r\n"):
        raise _not_json("it is empty")
    if _is_nested_too_deeply(text):
        raise _not_json("it is nested too deeply")
    try:
        document = _DECODER.decode(text)
        if "\\u" in text:  # A lone surrogate cannot be encoded as UTF-8.
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _not_json(f"the error is at character {error.pos}") from None
    except UnicodeEncodeError:
        raise _not_json("a string contains a lone surrogate") from None
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


def _not_json(why: str) -> Refused:
    return Refused("invalid_json", f"The body is not valid JSON in UTF-8: {why}.")


def _refuse_constant(name: str) -> NoReturn:
    raise _not_json(f"{name} is not part of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Refused("invalid_json", f"{_named(name)} appears twice in an object.")
        found[name] = value
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_refuse_constant,
)


def _refuse_unknown(
    found: dict[str, Any], known: tuple[str, ...], where: str, path: str
) -> None:
    for name in found:
        if name not in known:
            allowed = " and ".join([", ".join(known[:-1]), known[-1]])
            detail = (
                f"{_named(name, path)} is not accepted: {where} may only contain "
                f"{allowed}."
            )
            advice = _ADVICE.get(name, "")
            raise Refused("unknown_field", f"{detail} {advice}".strip())


def _require(found: dict[str, Any], names: tuple[str, ...], path: str) -> None:
    for name in names:
        if name not in found:
            raise Refused("missing_field", f"{_named(name, path)} is missing.")


def _check_model(model: Any) -> None:
    if model == MODEL and not isinstance(model, _Number):
        return
    got = model if isinstance(model, str) and _is_quotable(model) else _kind(model)
    raise Refused("invalid_model", f"model must be {MODEL}; got {got}.")


def _check_messages(messages: Any) -> str:
    if not isinstance(messages, list) or len(messages) != 1:
        got = f"{len(messages)}" if isinstance(messages, list) else _kind(messages)
        detail = f"messages must be an array of exactly 1 message; got {got}."
        advice = "Remove the system prompt and earlier messages."
        raise Refused("invalid_messages", f"{detail} {advice}")
    message = messages[0]
    if not isinstance(message, dict):
        detail = f"messages[0] must be an object; got {_kind(message)}."
        raise Refused("invalid_messages", detail)
    _refuse_unknown(message, MESSAGE_FIELDS, "a message", "messages[0].")
    _require(message, MESSAGE_FIELDS, "messages[0].")
    _check_role(message["role"])
    return _check_content(message["content"])


def _check_role(role: Any) -> None:
    if role == ROLE and not isinstance(role, _Number):
        return
    got = role if role in _OTHER_ROLES else _kind(role)
    raise Refused("invalid_role", f"messages[0].role must be {ROLE}; got {got}.")


def _check_content(content: Any) -> str:
    if not isinstance(content, str) or isinstance(content, _Number):
        detail = f"messages[0].content must be a string; got {_kind(content)}."
        raise Refused("invalid_content", detail)
    if not content:
        raise Refused("empty_content", "messages[0].content is empty.")
    size = len(content.encode())
    if size > MAX_CONTENT_BYTES:
        detail = (
            f"messages[0].content has {size} bytes in UTF-8; "
            f"at most {MAX_CONTENT_BYTES} are accepted."
        )
        raise Refused("content_too_large", detail)
    return content


def _check_max_tokens(value: Any) -> None:
    if isinstance(value, _Number) and str(value) == str(MAX_TOKENS):
        return
    short = isinstance(value, _Number) and len(value) <= _MAX_QUOTED_DIGITS
    got = str(value) if short else _kind(value)
    detail = f"max_tokens must be the integer {MAX_TOKENS} or omitted; got {got}."
    raise Refused("invalid_max_tokens", detail)


def _named(name: str, path: str = "") -> str:
    if _is_quotable(name):
        return f"The field {path}{name}"
    where = f"of {path[:-1]} " if path else ""
    return f"A field {where}with a name of {_characters(name)}"


def _is_quotable(word: str) -> bool:
    return bool(_QUOTABLE.fullmatch(word)) and not KEY_LIKE.search(word)


def _kind(value: Any) -> str:
    """Return what kind of value it is, without quoting it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, _Number):
        return "a number"
    if isinstance(value, str):
        return f"a string of {_characters(value)}"
    return "an array" if isinstance(value, list) else "an object"


def _characters(text: str) -> str:
    return "1 character" if len(text) == 1 else f"{len(text)} characters"
