"""The steps "echo": five kinds of text are sent and compared byte by byte.

If a text comes back changed, each likely cause predicts what it would have made of the
text; only an exact match with the returned text counts.

If the largest text is lost, the largest one that passes is found by halving. Small
requests pass and large ones hang where a link takes smaller packets than the rest of
the path and the messages that would say so are dropped (RFC 2923 §2.1), or where
something in between has a limit; the size tells which it is. The halving waits only
briefly for each text, so it may take one that is late for one that is lost. Therefore
the loss that decides is confirmed with the whole timeout, and if that text passes after
all, the halving goes on above it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from itertools import compress, product
from typing import Any
from unicodedata import category, normalize
from urllib.parse import quote, unquote, unquote_plus

from readback.contract import MAX_CONTENT_BYTES, MODEL, ROLE
from readback.probe.common.formatting import code_points
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.diagnoses import diagnose
from readback.probe.service import answers, instead
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.context import CHAT, ProbeContext
from readback.probe.transport.exchanges import LATE, ProbeResponse, outcome_of

_ALPHABET = "Съешь же ещё этих мягких французских булок, да выпей чаю"

# What gateways take for markup, escapes or a form: entities, a tag, percent signs, a
# plus sign, backslashes, repeated spaces; an address and a number, which filters hide.
ASCII = (
    " \"Ready to copy?\" 'Go ahead.' -- {}[]<>&%\\/ 0123456789 ~ <b>&amp;&lt;&#39;</b>"
    "  a+b=c%20d%2B 100%  \\n \\u0041 \\\\ me@host.example http://host.example/?q=1 "
)
CYRILLIC = f"{_ALPHABET}. Ґанок, їжак, ѣ."
# A flag, a family joined by U+200D, a skin tone; then combining marks and the
# precomposed characters that normalization would turn them into, or back.
MARKS = (
    "\U0001f1fa\U0001f1f3 \U0001f468\u200d\U0001f469\u200d\U0001f467"
    " \U0001f44b\U0001f3fd"
    " e\u0301 \u00e9 a\u0328\u0301 \u1e69 s\u0323\u0307 \ufb01 \u212b \u0e33"
    " no\u00a0break zero\u200bwidth soft\u00adhyphen"
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
# What becomes of a request or response that is too large for something in between.
_LOST = LATE | {
    *("between.blocked", "between.other_response", "gateway.blocks", "gateway.down"),
    *("http.cut", "http.cut_short", "http.gateway", "http.proxy_page"),
    "proxy.responded",
}
_SMALL_BYTES = 32
_PRECISION_BYTES = 32
# A packet of 1,500 bytes carries up to 1,460 of a body, one of 1,280 bytes (the
# smallest that IPv6 allows) up to 1,220; encryption and options take some of them.
_PACKET_BYTES = range(1_100, 1_500)
# A text that passes takes about as long as a small one, so do not wait much longer.
_PATIENCE = 10
_MIN_SECONDS, _MAX_SECONDS = 0.5, 2.0


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
    return diagnose("echo.same", figure=response.figure, bytes=len(text.encode()))


def send_text(
    context: ProbeContext, text: str, client: ProbeClient | None = None
) -> ProbeResponse:
    """Send a text; raise `ProbeError` unless it is returned unchanged."""
    context.sent_texts.add(text)
    response = context.ask(CHAT, request_body(text), client)
    if response.status != HTTPStatus.OK:
        raise instead.unexpected_response(response)
    completion = _completion(response)
    # A cache first: it may have kept the answer to another text.
    if completion["id"] in context.seen_ids:
        raise ProbeError("echo.replayed")
    context.seen_ids.add(completion["id"])
    received = completion["choices"][0]["message"]["content"]
    if received != text and received in context.sent_texts:
        raise ProbeError("echo.swapped")
    if received.encode("utf-8", "surrogatepass") != text.encode():
        id, cause = likely_cause(text, received)
        raise ProbeError(
            id,
            cause=cause,
            difference=first_difference(text, received),
            sent=len(text.encode()),
            received=len(received.encode("utf-8", "surrogatepass")),
        )
    return response


def _completion(response: ProbeResponse) -> dict[str, Any]:
    """Parse a completion; the step “in between” compares its other fields."""
    if found := instead.cut(response) or instead.error_in_success(response):
        raise found
    try:
        response.body.decode()
    except UnicodeDecodeError as error:
        byte = response.body[error.start]
        raise ProbeError(
            "echo.charset",
            cause="the response is not UTF-8",
            difference=f"byte {error.start + 1} of the response is 0x{byte:02X}",
        ) from None
    content = response.json
    if content is None:
        raise instead.unexpected_response(response)
    if isinstance(answers.inside(content, "data"), list):  # That of the models.
        raise ProbeError("echo.swapped")
    text = answers.inside(content, "choices", 0, "message", "content")
    if not isinstance(text, str):
        raise ProbeError("echo.shape", missing="choices[0].message.content")
    if not isinstance(answers.inside(content, "id"), str):
        raise ProbeError("echo.shape", missing="id")
    completion: dict[str, Any] = content
    return completion


def likely_cause(sent: str, received: str) -> tuple[str, str]:
    """Return the id of a diagnosis, and the detail that its sentence needs."""
    spaces = "\0\ufeff \t\r\n\v\f"
    if received in (sent.strip(), sent.strip(spaces), sent.rstrip(), sent.lstrip()):
        return "echo.trimmed", ""
    if received and sent.startswith(received):
        return "echo.truncated", ""
    for form in _FORMS:
        if received == normalize(form, sent):  # type: ignore[arg-type]
            return "echo.normalised", form
    if charset := _charset(sent, received):
        return "echo.charset", charset
    if _LINE_END.sub("\n", received) == _LINE_END.sub("\n", sent):
        left = {_LINE_ENDS[end] for end in _LINE_END.findall(received)}
        kept = f"only {left.pop()} remains" if len(left) == 1 else "mixed"
        return "echo.line_ends", kept
    if len(received) < len(sent) and _visible(received) == _visible(sent):
        return "echo.controls", ""
    if received != sent and html.unescape(received) == sent:
        return "echo.escaped", ""
    for change, named in _REWRITES.items():
        if received == change(sent):
            return named
    if _straighten_quotes(received) == _straighten_quotes(sent):
        return "echo.smart_quotes", ""
    return "echo.changed", ""


def first_difference(sent: str, received: str) -> str:
    """Describe the first difference, with its code points."""
    shorter = min(len(sent), len(received))
    pairs = enumerate(zip(sent, received))
    at = next((place for place, (a, b) in pairs if a != b), shorter)
    byte = len(sent[:at].encode("utf-8", "surrogatepass"))
    # Cut both texts at the nearest point where they agree again, or after a few.
    sizes = sorted(product(range(_MAX_SHOWN + 1), repeat=2), key=sum)
    rest, other = sent[at:], received[at:]
    equal = ((m, n) for m, n in sizes if rest[m : m + _EQUAL] == other[n : n + _EQUAL])
    m, n = next(equal, (_MAX_SHOWN, _MAX_SHOWN))
    return (
        f"character {at + 1} (byte {byte + 1}), "
        f"sent {code_points(rest[:m])}, received {code_points(other[:n])}"
    )


def _visible(text: str) -> str:
    kept = (one in "\t\n\r" or category(one) not in ("Cc", "Cf") for one in text)
    return "".join(compress(text, kept))


def _unescape(text: str) -> str:
    def unescaped(match: re.Match[str]) -> str:
        escape, code = match[1], match[1][1:]
        named = {"n": "\n", "t": "\t", "r": "\r"}
        return chr(int(code, 16)) if code else named.get(escape, escape)

    return re.sub(r"\\(u[0-9a-f]{4}|.)", unescaped, text)


# What programs do with a text that they take for something else.
_REWRITES: dict[Callable[[str], str], tuple[str, str]] = {
    html.unescape: ("echo.unescaped", "HTML entities were replaced by characters"),
    lambda text: re.sub("<[^<>]*>", "", text): ("echo.unescaped", "tags were removed"),
    lambda text: re.sub(" {2,}", " ", text): ("echo.spaces", "repeated spaces"),
    lambda text: text.replace("\u00a0", " "): ("echo.spaces", "no-break spaces"),
    lambda text: re.sub(r"\s+", " ", text): ("echo.spaces", "line ends and tabs, too"),
    lambda text: text.expandtabs(): ("echo.spaces", "tabs became spaces"),
    lambda text: text.replace("\t", " " * 4): ("echo.spaces", "tabs became spaces"),
    lambda text: text.replace("+", " "): ("echo.form", "+ became a space"),
    unquote: ("echo.form", "percent signs were decoded"),
    unquote_plus: ("echo.form", "+ and percent signs were decoded"),
    quote: ("echo.form", "characters were encoded with percent signs"),
    _unescape: ("echo.backslashes", "they were taken for escapes"),
    lambda text: text.replace("\\", ""): ("echo.backslashes", "they were removed"),
    lambda text: text.replace("\\\\", "\\"): (
        "echo.backslashes",
        "of two, one is left",
    ),
    lambda text: text.replace("\\", "\\\\"): ("echo.backslashes", "they were doubled"),
    lambda text: json.dumps(text)[1:-1]: ("echo.backslashes", "escaped twice"),
}


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


def find_limit(context: ProbeContext, lost: ProbeError) -> list[Diagnosis]:
    """Raise the error for the largest text that passes, if the size is the reason."""
    try:
        error = _limit(context, _if_lost(lost))
    except ProbeError:
        # The size is not the reason, or a limit of requests is reached.
        raise lost from None
    raise error


def _limit(context: ProbeContext, lost: ProbeError) -> ProbeError:
    def send(size: int, patience: float | None = None) -> ProbeResponse:
        with context.new_client(patience=patience) as client:
            return send_text(context, _text_of(size), client)

    passed, response = _SMALL_BYTES, send(_SMALL_BYTES)
    seconds = _PATIENCE * response.timing.total
    patience = max(_MIN_SECONDS, min(seconds, _MAX_SECONDS))
    # The sizes that did not pass, in descending order. Only the last one is confirmed.
    losses = [MAX_CONTENT_BYTES]
    while losses:
        while losses[-1] - passed > _PRECISION_BYTES:
            size = (passed + losses[-1]) // 2
            try:
                response = send(size, patience)
                passed = size
            except ProbeError as error:
                _if_lost(error)
                losses.append(size)
        size, what = losses.pop(), "request bodies"
        try:
            _send_for_refusal(context, size)
            what = "response bodies"
            response = send(size)
        except ProbeError as error:
            lost = _if_lost(error)
            break
        passed = size
        patience = max(patience, 2 * response.timing.total)
    else:
        raise lost  # Every size passes, so it was chance.
    total = response.received_bytes
    if what == "request bodies":
        total = len(request_body(_text_of(passed)))
    facts: dict[str, Fact] = {"passes": passed, "fails": size, "total": total}
    if lost.id in LATE and total in _PACKET_BYTES:
        return ProbeError("between.mtu", what=what, **facts)
    outcome = outcome_of(lost)
    return ProbeError("between.size_limit", outcome=outcome, what=what, **facts)


def _send_for_refusal(context: ProbeContext, size: int) -> None:
    """Ask for another model with a text of this size: the refusal is small."""
    body = request_body(_text_of(size))
    body = body.replace(MODEL.encode(), b"m" * len(MODEL), 1)
    with context.new_client() as client:
        response = context.ask(CHAT, body, client)
    if answers.parse_refusal(response) is None:
        raise instead.unexpected_response(response)


def _if_lost(error: ProbeError) -> ProbeError:
    """Return the error if the size can be its reason; raise it if not."""
    if error.id not in _LOST:
        raise error
    return error


def _text_of(size: int) -> str:
    return largest_text().encode()[:size].decode(errors="ignore")
