"""The steps "echo": five kinds of text are sent and compared byte by byte."""

from __future__ import annotations

import json
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from readback.contract import MAX_CONTENT_BYTES, MODEL, ROLE
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service import differences
from readback.probe.service.api_answers import parse_json
from readback.probe.service.refusals import parse_refusal, refusal_error
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
        raise _error(context, response)
    completion = _completion(context, response)
    received = completion["choices"][0]["message"]["content"]
    if received.encode("utf-8", "surrogatepass") != text.encode():
        raise _changed(text, received)
    if completion["id"] in context.seen_ids:
        raise ProbeError("echo.replayed")
    context.seen_ids.add(completion["id"])
    return response


def _changed(sent: str, received: str) -> ProbeError:
    change = differences.likely_cause(sent, received)
    return ProbeError(
        change.id,
        cause=change.cause,
        difference=differences.first_difference(sent, received),
        sent=len(sent.encode()),
        received=len(received.encode("utf-8", "surrogatepass")),
    )


def _error(context: ProbeContext, response: ProbeResponse) -> ProbeError:
    refusal = parse_refusal(response)
    if refusal is None:
        return unexpected_response(response, f"{context.base_url}{CHAT}")
    if refusal.code == "unsupported_media_type":
        return ProbeError("echo.media_type", detail=refusal.detail)
    return refusal_error(response, refusal)


def _completion(context: ProbeContext, response: ProbeResponse) -> dict[str, Any]:
    """Parse a completion and check the fields that programs rely on."""
    try:
        response.body.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(response, error) from None
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


def _not_utf8(response: ProbeResponse, error: UnicodeDecodeError) -> ProbeError:
    byte = response.body[error.start]
    return ProbeError(
        "echo.charset",
        cause="the response is not UTF-8",
        difference=f"byte {error.start + 1} of the response is 0x{byte:02X}",
    )
