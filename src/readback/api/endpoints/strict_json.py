"""Decode strict JSON: UTF-8 and RFC 8259, with no repeated name or lone surrogate."""

import json
from typing import Any, NoReturn

import msgspec


class NotJson(Exception):
    """The bytes are not strict JSON; the message says why."""


# A number as the client wrote it, so that neither its size nor its form is lost. No
# other value in a document has the type bytes.
Number = bytes


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
    try:
        document = _DECODER.decode(text)
        # This fails for a lone surrogate, which UTF-8 cannot encode.
        names = _outside_of_strings(msgspec.json.encode(document)).count(b":")
    except json.JSONDecodeError as error:
        raise NotJson(f"the error is at character {error.pos}") from None
    except UnicodeEncodeError:
        raise NotJson("a string contains a lone surrogate") from None
    except RecursionError:  # RFC 8259 §9 allows a limit
        raise NotJson("it is nested too deeply") from None
    # If a name is repeated, the decoder keeps only its last value.
    if names < _outside_of_strings(body).count(b":"):
        raise NotJson("a field name appears twice in an object")
    return document


def _outside_of_strings(body: bytes) -> bytes:
    """Return a body without its strings. What is left has one colon for each name."""
    # Once escapes are removed, each quotation mark begins or ends a string.
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not part of JSON")


# Only C functions are called for values, because a body may have thousands of them.
_DECODER = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_refuse_constant
)
