"""The steps for a Readback server: its key, then texts that are compared byte by byte.

If only large requests hang, either a link allows only smaller packets and the messages
that report this are dropped (RFC 2923 §2.1), or something in between has a size limit.
A text of a few packets shows which it is.
"""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from functools import lru_cache
from os.path import commonprefix
from typing import Any

from readback.contract import MAX_CONTENT_BYTES, MODEL, REHEARSAL_KEY, ROLE
from readback.probe.common.catalogue import diagnose, has_tag, say
from readback.probe.common.formatting import code_points, sanitize
from readback.probe.common.results import Diagnosis, ProbeError
from readback.probe.service import answers, instead
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.context import CHAT, MODELS, UNKNOWN, ProbeContext
from readback.probe.transport.exchanges import ProbeResponse, outcome_of

# How the service describes a malformed header or key.
_OF_FORM = re.compile(
    "not a valid key|Authorization|Bearer|^The key |key of another service"
)
# Ordinary text, which filters and translators may change; they skip unusual text.
_PLAIN = "Ready to copy?"
_ALPHABET = "Съешь же ещё этих мягких французских булок, да выпей чаю"

# Text that gateways may interpret, and an e-mail address and digits that filters hide.
ASCII = (
    " \"Ready to copy?\" 'Go ahead.' -- {}[]<>&%\\/ 0123456789 ~ <b>&amp;&lt;&#39;</b>"
    "  a+b=c%20d%2B 100%  \\n \\u0041 \\\\ me@host.example http://host.example/?q=1 "
)
CYRILLIC = f"{_ALPHABET}. Ґанок, їжак, ѣ."
# A flag, a family joined by U+200D, a skin tone; then combining marks and precomposed
# characters, which Unicode normalization would convert into each other.
MARKS = (
    "\U0001f1fa\U0001f1f3 \U0001f468\u200d\U0001f469\u200d\U0001f467"
    " \U0001f44b\U0001f3fd"
    " e\u0301 \u00e9 a\u0328\u0301 \u1e69 s\u0323\u0307 \ufb01 \u212b \u0e33"
    " no\u00a0break zero\u200bwidth soft\u00adhyphen"
)
CONTROLS = (
    "line\nline\r\nline\ttab\0nul\x01\x1b[0m\x7f\x85 \ufeffmark \u200e\u2028\u2029end\n"
)
TEXT = f"{ASCII}\n{CYRILLIC}\n{MARKS}\n{CONTROLS}"
_PARTS = {
    "": _PLAIN,
    "in_ascii": ASCII,
    "in_cyrillic": CYRILLIC,
    "in_marks": MARKS,
    "in_controls": CONTROLS,
}
# Sent on new connections, which may reach other servers; skipped if an echo is slow.
_AGAIN = (_PLAIN, TEXT, TEXT)
_LONG_SECONDS = 2.0
_MAX_SHOWN = 4
# Sizes in bytes of the texts that are sent if the largest text is lost.
_ONE_PACKET = 400
_SEVERAL_PACKETS = 3_000


def check_access(context: ProbeContext) -> Diagnosis:
    if not context.key:
        raise ProbeError("key.none", detail="")
    if not context.key.is_readback_key:
        reason = "is_placeholder" if context.key.is_placeholder else "is_foreign"
        raise ProbeError("key.other_service", reason=say(reason))
    if pattern := _pattern(context):
        context.is_rehearsal = True
        return diagnose("key.rehearsal", pattern=pattern)
    without_key = context.models_without_key
    response = context.ask(MODELS)
    if answers.inside(response.json, "choices"):
        raise ProbeError("echo.swapped")
    is_list = isinstance(response.json, dict) or answers.model_ids(response) is not None
    if response.is_success and is_list:
        if error := answers.error_in_success(response):
            raise error
        context.models = response
        return diagnose("key.accepted", figure=response.figure)
    refusal = answers.parse_refusal(response)
    if refusal is None or refusal.code != "invalid_key":
        raise instead.unexpected_response(response)
    request_id = response.headers.get("X-Request-Id")
    if request_id and request_id == without_key.headers.get("X-Request-Id"):
        raise ProbeError("echo.replayed")
    finding = "key.refused"
    if refusal == answers.parse_refusal(without_key):
        finding = "key.stripped" if refusal.is_explained else "key.refused_or_lost"
    elif refusal.is_explained and _OF_FORM.search(refusal.detail):
        # The probe has checked the key's form, so something has changed the key.
        finding = "key.stripped"
    raise ProbeError(finding, detail=refusal.detail)


def _pattern(context: ProbeContext) -> str:
    """Return the failure pattern that a rehearsal key requests, or ""."""
    # If the service takes seconds, the other steps need all the remaining time.
    if context.models_without_key.seconds > _LONG_SECONDS:
        return ""
    detail = context.ask(UNKNOWN).headers.get("X-Error-Detail", "")
    return sanitize(detail.partition(REHEARSAL_KEY)[2].strip(" ."))


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


def check_echo(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if context.is_rehearsal:
        return []
    # When the step is repeated, it continues with the text that was lost.
    echoes = context.echoes
    if not echoes:
        try:
            echoes.append(send_text(context, TEXT))
        except ProbeError as error:
            raise _refused_text(context, error) from None
    for text in _AGAIN[len(echoes) - 1 :]:
        if echoes[-1].seconds > _LONG_SECONDS:
            break
        with context.new_client() as client:
            echoes.append(send_text(context, text, client))
    return diagnose("echo.same", figure=echoes[0].figure)


def _refused_text(context: ProbeContext, lost: ProbeError) -> ProbeError:
    """Return an error that says what is refused if ordinary text passes."""
    refused = []
    if has_tag(lost.id, "lost") and not has_tag(lost.id, "late"):
        with context.new_client() as client:
            for word, text in _PARTS.items():
                try:
                    send_text(context, text, client)
                except ProbeError:
                    refused.append(word)
    if not refused or "" in refused:
        return lost
    said = ", ".join(map(say, refused))
    facts = {**lost.facts, "plain": _PLAIN, "refused": said}
    return ProbeError("between.characters", **facts, outcome=outcome_of(lost))


def check_largest(context: ProbeContext) -> Diagnosis | list[Diagnosis]:
    if context.is_rehearsal:
        return []
    try:
        response = send_text(context, largest_text())
    except ProbeError as error:
        if has_tag(error.id, "lost"):
            raise _too_large(context, error) from None
        raise
    return diagnose("echo.same", figure=response.figure)


def _too_large(context: ProbeContext, lost: ProbeError) -> ProbeError:
    finding = "between.size_limit"
    fails = MAX_CONTENT_BYTES
    for size in (_SEVERAL_PACKETS, _ONE_PACKET):
        text = largest_text().encode()[:size].decode(errors="ignore")
        try:
            with context.new_client() as client:
                send_text(context, text, client)
        except ProbeError as error:
            # If a response has begun, the packets of the request were not too large.
            finding = "between.mtu" if error.id == "http.silent" else finding
            fails = size
        else:
            facts = {**lost.facts, "passes": size, "fails": fails}
            return ProbeError(finding, **facts, outcome=outcome_of(lost))
    return lost  # Not even a short text passes.


def send_text(
    context: ProbeContext, text: str, client: ProbeClient | None = None
) -> ProbeResponse:
    context.sent_texts.add(text)
    response = context.ask(CHAT, request_body(text), client)
    if not response.is_success:
        raise instead.unexpected_response(response)
    completion = _completion(response)
    # Check for a cache first: it may return the answer to another text.
    if completion["id"] in context.seen_ids:
        raise ProbeError("echo.replayed")
    context.seen_ids.add(completion["id"])
    received = completion["choices"][0]["message"]["content"]
    if received != text and received in context.sent_texts:
        raise ProbeError("echo.swapped")
    if received.encode("utf-8", "surrogatepass") != text.encode():
        raise ProbeError(
            "echo.changed",
            difference=first_difference(text, received),
            sent=len(text.encode()),
            received=len(received.encode("utf-8", "surrogatepass")),
        )
    return response


def _completion(response: ProbeResponse) -> dict[str, Any]:
    """Return the completion; raise `ProbeError` if clients could not read it."""
    if found := answers.spoiled(response) or answers.error_in_success(response):
        raise found
    try:
        response.body.decode()
    except UnicodeDecodeError as error:
        facts = {"place": error.start + 1, "byte": f"{response.body[error.start]:02X}"}
        raise ProbeError("echo.changed", difference=say("bad_byte", **facts)) from None
    content = response.json
    if content is None:
        raise instead.unexpected_response(response)
    if isinstance(answers.inside(content, "data"), list):  # This is the list of models.
        raise ProbeError("echo.swapped")
    declared = response.headers.get("Content-Type", "")
    media_type = declared.partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        how = say("other_content_type", type=sanitize(media_type) or say("missing"))
        raise ProbeError("http.spoiled", how=how)
    needed = (("id",), ("choices", 0, "message", "content"))
    if not all(isinstance(answers.inside(content, *path), str) for path in needed):
        raise ProbeError("http.spoiled", how=say("not_a_completion"))
    completion: dict[str, Any] = content
    return completion


def first_difference(sent: str, received: str) -> str:
    at = len(commonprefix([sent, received]))
    byte = len(sent[:at].encode("utf-8", "surrogatepass"))
    rest = sent[at : at + _MAX_SHOWN]
    other = received[at : at + _MAX_SHOWN]
    # Show both texts up to the point where they agree again.
    _, _, m, _, n = SequenceMatcher(None, rest, other).get_opcodes()[0]
    return say(
        "first_difference",
        place=at + 1,
        byte=byte + 1,
        sent=code_points(rest[:m]),
        received=code_points(other[:n]),
    )
