"""The steps "echo": texts of five kinds go out and are compared byte by byte."""

import json
from http import HTTPStatus
from typing import Any

from readback.contract import MAX_CONTENT_BYTES, MODEL, ROLE
from readback.probe import differences
from readback.probe.calls import Answer, Caller
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.recognition import json_in, refusal_in, stranger, trouble_of
from readback.probe.scene import CHAT, Scene
from readback.probe.wording import milliseconds

_ALPHABET = "Съешь же ещё этих мягких французских булок, да выпей чаю"

ASCII = " \"Ready to copy?\" 'Go ahead.' -- {}[]<>&%\\/ 0123456789 ~ "
CYRILLIC = f"{_ALPHABET}. Ґанок, їжак, ѣ."
# A flag, a family joined by U+200D, a skin tone; then marks in both orders.
MARKS = (
    "\U0001f1fa\U0001f1f3 \U0001f468\u200d\U0001f469\u200d\U0001f467"
    " \U0001f44b\U0001f3fd"
    " e\u0301 \u00e9 a\u0328\u0301 \u1e69 s\u0323\u0307 \ufb01 \u212b \u0e33"
)
CONTROLS = (
    "line\nline\r\nline\ttab\0nul\x01\x1b[0m\x7f\x85 \ufeffmark \u200e\u2028\u2029end\n"
)


def full() -> str:
    """Make a text of exactly as many bytes as are allowed, all kinds in it."""
    unit = f"{_ALPHABET}, quick \U0001f98a fox. "
    text = unit * (MAX_CONTENT_BYTES // len(unit.encode()))
    return text + "." * (MAX_CONTENT_BYTES - len(text.encode()))


def request_body(text: str) -> bytes:
    """Write a request as raw UTF-8: escapes would hide a broken character set."""
    messages = [{"role": ROLE, "content": text}]
    body = {"model": MODEL, "messages": messages}
    return json.dumps(body, ensure_ascii=False).encode()


def check(scene: Scene, text: str) -> Finding:
    answer = exchange(scene, text)
    size = len(text.encode())
    figure = milliseconds(answer.timing.answer)
    return found("echo.same", figure=figure, bytes=size)


def exchange(scene: Scene, text: str, caller: Caller | None = None) -> Answer:
    """Send a text; raise `Trouble` unless exactly that comes back."""
    answer = scene.say(request_body(text), caller)
    if answer.status != HTTPStatus.OK:
        raise _refused(scene, answer)
    completion = _completion(answer)
    came = completion["choices"][0]["message"]["content"]
    if came.encode("utf-8", "surrogatepass") != text.encode():
        raise changed(text, came)
    if completion["id"] in scene.seen_ids:
        raise Trouble("echo.replayed")
    scene.seen_ids.add(completion["id"])
    return answer


def changed(sent: str, came: str) -> Trouble:
    change = differences.cause(sent, came)
    return Trouble(
        change.id,
        cause=change.cause,
        difference=differences.first(sent, came),
        sent=len(sent.encode()),
        came=len(came.encode("utf-8", "surrogatepass")),
    )


def _refused(scene: Scene, answer: Answer) -> Trouble:
    refused = refusal_in(answer)
    if refused is None:
        return stranger(answer, f"{scene.address}{CHAT}")
    if refused.code == "unsupported_media_type":
        return Trouble("echo.media_type", detail=refused.detail)
    return trouble_of(answer, refused)


def _completion(answer: Answer) -> dict[str, Any]:
    """Read a completion, and hold it to the fields that programs rely on."""
    try:
        answer.body.decode()
    except UnicodeDecodeError as fault:
        raise _not_utf8(answer, fault) from None
    said = json_in(answer.body)
    try:
        choice = said["choices"][0]
        rest = (said["object"], said["model"], choice["message"]["role"])
        is_right = rest == ("chat.completion", MODEL, "assistant")
        is_right &= isinstance(choice["message"]["content"], str)
        is_right &= isinstance(said["id"], str) and len(said["choices"]) == 1
    except (KeyError, IndexError, TypeError):
        is_right = False
    if not is_right:
        raise Trouble("echo.shape")
    completion: dict[str, Any] = said
    return completion


def _not_utf8(answer: Answer, fault: UnicodeDecodeError) -> Trouble:
    byte = answer.body[fault.start]
    return Trouble(
        "echo.charset",
        cause="the answer is not UTF-8",
        difference=f"byte {fault.start + 1} of the answer is 0x{byte:02X}",
    )
