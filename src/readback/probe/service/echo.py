"""The steps "echo": five kinds of text are sent and compared byte by byte.

If a text comes back changed, each likely cause predicts what it would have made of the
text; only an exact match with the returned text counts.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from http import HTTPStatus
from itertools import compress, product
from typing import Any, NamedTuple
from unicodedata import category, normalize

from readback.contract import MAX_CONTENT_BYTES, MODEL, ROLE
from readback.probe.common.formatting import code_points, format_duration
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service.answers import parse_json, parse_refusal, refusal_error
from readback.probe.service.unexpected import unexpected_response
from readback.probe.transport.client import ProbeClient, ProbeResponse
from readback.probe.transport.context import CHAT, ProbeContext

_ALPHABET = "Съешь же ещё этих мягких французских булок, да выпей чаю"

ASCII = " \"Ready to copy?\" 'Go ahead.' -- {}[]<>&%\\/ 0123456789 ~ "
CYRILLIC = f"{_ALPHABET}. Ґанок, їжак, ѣ."
# A flag, a family joined by U+200D, a skin tone; then combining marks and the
# precomposed characters that normalization would turn them into, or back.
MARKS = (
    "\U0001f1fa\U0001f1f3 \U0001f468\u200d\U0001f469\u200d\U0001f467"
    " \U0001f44b\U0001f3fd"
    " e\u0301 \u00e9 a\u0328\u0301 \u1e69 s\u0323\u0307 \ufb01 \u212b \u0e33"
)
CONTROLS = (
    "line\nline\r\nline\ttab\0nul\x01\x1b[0m\x7f\x85 \ufeffmark \u200e\u2028\u2029end\n"
)
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# Encodings in which UTF-8 is commonly misread.
_CHARSETS = ("cp1252", "latin-1", "cp1251", "koi8-r", "cp437", "cp866", "mac-roman")
_SMART = str.maketrans(
    dict.fromkeys('"“”„«»', '"') | dict.fromkeys("'‘’‚", "'") | {"–": "-", "—": "-"}
)
_LINE_END = re.compile("\r\n|\r|\n")
_LINE_ENDS = {"\r\n": "CR LF", "\r": "CR", "\n": "LF"}
_MAX_SHOWN = 4
_EQUAL = 2


@lru_cache(maxsize=1)
def largest_text() -> str:
    """Return a text of exactly the maximum size, with several kinds of characters."""
    unit = f"{_ALPHABET}, quick \U0001f98a fox. "
    text = unit * (MAX_CONTENT_BYTES // len(unit.encode()))
    return text + "." * (MAX_CONTENT_BYTES - len(text.encode()))


def request_body(text: str) -> bytes:
    """Return a request in raw UTF-8; escapes would hide a wrong character set."""
    messages = [{"role": ROLE, "content": text}]
    body = {"model": MODEL, "messages": messages}
    return json.dumps(body, ensure_ascii=False).encode()


def check(
    context: ProbeContext, text: str, client: ProbeClient | None = None
) -> Diagnosis:
    response = send_text(context, text, client)
    size = len(text.encode())
    figure = format_duration(response.timing.answer)
    return diagnose("echo.same", figure=figure, bytes=size)


def send_text(
    context: ProbeContext, text: str, client: ProbeClient | None = None
) -> ProbeResponse:
    """Send a text; raise `ProbeError` unless it is returned unchanged."""
    response = context.post_chat(request_body(text), client)
    if response.status != HTTPStatus.OK:
        refusal = parse_refusal(response)
        if refusal is None:
            raise unexpected_response(response, f"{context.base_url}{CHAT}")
        if refusal.code == "unsupported_media_type":
            raise ProbeError("echo.media_type", detail=refusal.detail)
        raise refusal_error(response, refusal)
    completion = _completion(context, response)
    received = completion["choices"][0]["message"]["content"]
    if received.encode("utf-8", "surrogatepass") != text.encode():
        change = likely_cause(text, received)
        raise ProbeError(
            change.id,
            cause=change.cause,
            difference=first_difference(text, received),
            sent=len(text.encode()),
            received=len(received.encode("utf-8", "surrogatepass")),
        )
    if completion["id"] in context.seen_ids:
        raise ProbeError("echo.replayed")
    context.seen_ids.add(completion["id"])
    return response


def _completion(context: ProbeContext, response: ProbeResponse) -> dict[str, Any]:
    """Parse a completion and check the fields that programs rely on."""
    try:
        response.body.decode()
    except UnicodeDecodeError as error:
        byte = response.body[error.start]
        raise ProbeError(
            "echo.charset",
            cause="the response is not UTF-8",
            difference=f"byte {error.start + 1} of the response is 0x{byte:02X}",
        ) from None
    content = parse_json(response.body)
    if content is None:
        raise unexpected_response(response, f"{context.base_url}{CHAT}")
    try:
        choice = content["choices"][0]
        rest = (content["object"], choice["message"]["role"])
        is_right = rest == ("chat.completion", "assistant")
        is_right &= isinstance(choice["message"]["content"], str)
        is_right &= isinstance(content["id"], str) and len(content["choices"]) == 1
    except (KeyError, IndexError, TypeError):
        is_right = False
    if not is_right:
        raise ProbeError("echo.shape")
    completion: dict[str, Any] = content
    return completion


class TextChange(NamedTuple):
    """The id of a diagnosis, and the detail that its sentence needs."""

    id: str
    cause: str = ""


def likely_cause(sent: str, received: str) -> TextChange:
    """Return the likely cause of a difference."""
    return next(_causes(sent, received), TextChange("echo.changed"))


def first_difference(sent: str, received: str) -> str:
    """Describe the first difference, with its code points."""
    shorter = min(len(sent), len(received))
    pairs = enumerate(zip(sent, received))
    at = next((place for place, (a, b) in pairs if a != b), shorter)
    byte = len(sent[:at].encode("utf-8", "surrogatepass"))
    expected, actual = _until_equal(sent[at:], received[at:])
    return (
        f"character {at + 1} (byte {byte + 1}), "
        f"sent {code_points(expected)}, received {code_points(actual)}"
    )


def _causes(sent: str, received: str) -> Iterator[TextChange]:
    if received and sent.startswith(received):
        yield TextChange("echo.truncated")
    for form in _FORMS:
        if received == normalize(form, sent):  # type: ignore[arg-type]
            yield TextChange("echo.normalised", form)
    if charset := _charset(sent, received):
        yield TextChange("echo.charset", charset)
    if _LINE_END.sub("\n", received) == _LINE_END.sub("\n", sent):
        left = {_LINE_ENDS[end] for end in _LINE_END.findall(received)}
        kept = f"only {left.pop()} remains" if len(left) == 1 else "mixed"
        yield TextChange("echo.line_ends", kept)
    if received == sent.strip() or received == sent.strip("\0\ufeff" + " \t\r\n\v\f"):
        yield TextChange("echo.trimmed")
    is_visible = (one in "\t\n\r" or category(one) not in ("Cc", "Cf") for one in sent)
    if received == "".join(compress(sent, is_visible)):
        yield TextChange("echo.controls")
    if received != sent and html.unescape(received) == sent:
        yield TextChange("echo.escaped")
    if _straighten_quotes(received) == _straighten_quotes(sent):
        yield TextChange("echo.smart_quotes")


def _charset(sent: str, received: str) -> str:
    raw = sent.encode("utf-8", "surrogatepass")
    for charset in _CHARSETS:
        if received in {raw.decode(charset, how) for how in ("replace", "ignore")}:
            return f"UTF-8 was read as {charset}"
    # "?" and U+FFFD are usual replacements for characters that cannot be encoded.
    for replacement in ("?", "\ufffd", ""):
        if received == "".join(c if c.isascii() else replacement for c in sent):
            return "characters outside ASCII were lost"
        if received == "".join(c if ord(c) <= 0xFFFF else replacement for c in sent):
            return "characters beyond U+FFFF were lost"
    if "\ufffd" in received and "\ufffd" not in sent:
        return "bytes that are not UTF-8 were replaced"
    return ""


def _straighten_quotes(text: str) -> str:
    return text.replace("…", "...").replace("--", "—").translate(_SMART)


def _until_equal(sent: str, received: str) -> tuple[str, str]:
    """Cut both texts at the nearest point where they agree again, or after a few."""
    sizes = product(range(_MAX_SHOWN + 1), repeat=2)
    for one, other in sorted(sizes, key=sum):
        if sent[one : one + _EQUAL] == received[other : other + _EQUAL]:
            return sent[:one], received[:other]
    return sent[:_MAX_SHOWN], received[:_MAX_SHOWN]
