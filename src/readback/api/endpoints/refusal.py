"""The slow pass: which rule of the contract a request breaks first, and how.

Runs only when the fast pass has refused. The order of the checks is the order of
the table in docs/contract.md. Details name fields, limits and kinds of values, never
the text and never anything that could be a key; they go into a header.
"""

import json
import re
from typing import Any, NoReturn

from readback.api.endpoints.exchange import Refused
from readback.contract import (
    MAX_CONTENT_BYTES,
    MAX_TOKENS,
    MESSAGE_FIELDS,
    MODEL,
    REQUEST_FIELDS,
    REQUIRED_FIELDS,
    ROLE,
)

# Names and model ids are shown only in this shape: short, plain and not like a key.
_PLAIN = re.compile(r"(?!sk-)[A-Za-z0-9_.:/-]{1,40}")

# Which switch of the usual clients sends a field that people then ask about.
_SENDERS = {
    "temperature": "Leave temperature unset; LlamaIndex sends it unless "
    "additional_kwargs={'temperature': openai.omit}.",
    "max_completion_tokens": "LangChain, pydantic-ai and DSPy send it for max_tokens: "
    f"leave that option out, or send extra_body={{'max_tokens': {MAX_TOKENS}}}.",
    "stream_options": "Turn streaming off in your program.",
    "n": "Leave n unset; Haystack needs generation_kwargs={'n': openai.omit}.",
    "tools": "Turn tools off; with instructor, use response_model=None.",
    "tool_choice": "Turn tools off; with instructor, use response_model=None.",
    "functions": "Turn function calling off.",
    "response_format": "Turn structured output off.",
    "name": "With AutoGen, set include_name_in_message=False.",
}


def examine(body: bytes) -> str:
    """Give the text if every rule is kept after all; else raise `Refused`."""
    request = _load(body)
    if not isinstance(request, dict):
        came = _kind(request)
        raise Refused("invalid_json", f"The body is {came}, not a JSON object.")
    _refuse_unknown(request, REQUEST_FIELDS, "the body", "")
    _require(request, REQUIRED_FIELDS, "")
    _check_model(request["model"])
    content = _check_messages(request["messages"])
    if "stream" in request and request["stream"] is not False:
        came = _kind(request["stream"])
        detail = f"Field stream must be false or left out, and {came} came."
        raise Refused("stream_unavailable", f"{detail} Turn streaming off.")
    if "max_tokens" in request:
        _check_max_tokens(request["max_tokens"])
    return content


class _Number(str):
    """A number as it is written: neither its size nor its form gets lost."""


def _load(body: bytes) -> Any:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _not_json(f"byte {error.start} is not valid UTF-8") from None
    if text.startswith("\ufeff"):
        raise _not_json("it begins with a byte order mark")
    if not text.strip(" \t\r\n"):
        raise _not_json("it is empty")
    try:
        document = _DECODER.decode(text)
        if "\\u" in text:  # A surrogate that stands alone cannot be written as UTF-8.
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _not_json(f"at character {error.pos} it is not valid JSON") from None
    except RecursionError:
        raise _not_json("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise _not_json("a surrogate stands alone in a string") from None
    return document


def _not_json(why: str) -> Refused:
    return Refused("invalid_json", f"The body is not JSON in UTF-8: {why}.")


def _refuse_constant(name: str) -> NoReturn:
    raise _not_json(f"{name} is not part of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            detail = f"{_named(name)} stands twice in one object."
            raise Refused("invalid_json", detail)
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
            sender = _SENDERS.get(name, "")
            detail = (
                f"{_named(name, path)} is not accepted: {where} has only {allowed}."
            )
            raise Refused("unknown_field", f"{detail} {sender}".strip())


def _require(found: dict[str, Any], names: tuple[str, ...], path: str) -> None:
    for name in names:
        if name not in found:
            raise Refused("missing_field", f"{_named(name, path)} is missing.")


def _check_model(model: Any) -> None:
    if model == MODEL and not isinstance(model, _Number):
        return
    came = _kind(model)
    if isinstance(model, str) and _PLAIN.fullmatch(model):
        came = model
    detail = f"Field model must be {MODEL}, and {came} came."
    raise Refused("invalid_model", detail)


def _check_messages(messages: Any) -> str:
    if not isinstance(messages, list) or len(messages) != 1:
        came = f"{len(messages)}" if isinstance(messages, list) else _kind(messages)
        detail = (
            f"Field messages must be an array of exactly 1 message, and {came} came"
        )
        raise Refused("invalid_messages", f"{detail}: no system prompt, no history.")
    message = messages[0]
    if not isinstance(message, dict):
        detail = f"messages[0] must be an object, and {_kind(message)} came."
        raise Refused("invalid_messages", detail)
    _refuse_unknown(message, MESSAGE_FIELDS, "a message", "messages[0].")
    _require(message, MESSAGE_FIELDS, "messages[0].")
    if message["role"] != ROLE or isinstance(message["role"], _Number):
        role = message["role"]
        came = role if role in ("system", "assistant", "developer", "tool") else ""
        detail = (
            f"Field messages[0].role must be {ROLE}, and {came or _kind(role)} came."
        )
        raise Refused("invalid_role", detail)
    return _check_content(message["content"])


def _check_content(content: Any) -> str:
    if not isinstance(content, str) or isinstance(content, _Number):
        detail = (
            f"Field messages[0].content must be a string, and {_kind(content)} came."
        )
        raise Refused("invalid_content", detail)
    if not content:
        raise Refused("empty_content", "Field messages[0].content is empty.")
    size = len(content.encode())
    if size > MAX_CONTENT_BYTES:
        detail = (
            f"Field messages[0].content has {size} bytes in UTF-8, "
            f"and at most {MAX_CONTENT_BYTES} are taken."
        )
        raise Refused("content_too_large", detail)
    return content


def _check_max_tokens(value: Any) -> None:
    if isinstance(value, _Number) and str(value) == str(MAX_TOKENS):
        return
    short = isinstance(value, _Number) and len(value) <= 20
    came = str(value) if short else _kind(value)
    detail = f"Field max_tokens must be the integer {MAX_TOKENS}, and {came} came."
    raise Refused("invalid_max_tokens", detail)


def _named(name: str, path: str = "") -> str:
    if _PLAIN.fullmatch(name):
        return f"Field {path}{name}"
    return f"A field {path and f'in {path[:-1]} '}with a name of {len(name)} characters"


def _kind(value: Any) -> str:
    """Name what came, without saying it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, _Number):
        return "a number"
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    return "an array" if isinstance(value, list) else "an object"
