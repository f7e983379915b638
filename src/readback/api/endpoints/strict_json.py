"""Strict JSON: UTF-8, RFC 8259, no repeated name, no lone surrogate.

Numbers stay as written.
"""

import json
from typing import Any, NoReturn

import msgspec


class NotJson(Exception):
    """The bytes are not strict JSON; the text says why."""


# A number as it was written, so that neither its size nor its form is lost. Nothing
# else in a document is of the type bytes.
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
        # A lone surrogate cannot be encoded as UTF-8.
        names = _outside_of_strings(msgspec.json.encode(document)).count(b":")
    except json.JSONDecodeError as error:
        raise NotJson(f"the error is at character {error.pos}") from None
    except UnicodeEncodeError:
        raise NotJson("a string contains a lone surrogate") from None
    except RecursionError:  # RFC 8259 §9 allows a limit
        raise NotJson("it is nested too deeply") from None
    # The decoder keeps the last of two values with the same name.
    if names < _outside_of_strings(body).count(b":"):
        raise NotJson("a field name appears twice in an object")
    return document


def _outside_of_strings(body: bytes) -> bytes:
    """Return a body without its strings; outside strings, a colon follows a name."""
    # Without escapes, each quotation mark begins or ends a string.
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not part of JSON")


# No Python function is called per value, because a body may have thousands of values.
_DECODER = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_refuse_constant
)
