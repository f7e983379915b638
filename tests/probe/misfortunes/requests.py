"""Something changes requests in transit to the service."""

import json
import re
from dataclasses import replace

from tests.probe.gateway import (
    Call,
    has_key,
    is_chat,
    rewriting,
    rewriting_body,
    rewriting_json,
    when,
)
from tests.probe.misfortunes.arranging import kind_of, row

_CHANGED = r"changes?d?|rewrit|remov|adds?|replac|transit|on (its|the) way"


def _set(name: str, *values: str):
    return rewriting(lambda call: call.with_field(name, *values))


def _key_as(change):
    """Change the value of the Authorization header if there is one."""

    def rewrite(call: Call) -> Call:
        value = call["Authorization"]
        return call.with_field("Authorization", change(value)) if value else call

    return rewriting(rewrite)


def _text(change):
    def edit(content: dict) -> None:
        message = content["messages"][0]
        message["content"] = change(message["content"])

    return rewriting_json(edit)


def _targets(change):
    return rewriting(lambda call: replace(call, target=change(call.target)))


_KEY = r"key|Authorization"
_HEADERS = (
    row(
        "Authorization is removed",
        _set("Authorization"),
        _KEY,
        _CHANGED,
        id="key.stripped",
    ),
    row(
        "Authorization is removed from POST only",
        when(is_chat, _set("Authorization")),
        _KEY,
        _CHANGED,
    ),
    row(
        "a gateway sends its own key",
        when(has_key, _set("Authorization", "Bearer sk-gateway-1234567890")),
        _KEY,
    ),
    row("Bearer is written in lower case", _key_as(lambda v: "bearer" + v[6:]), by=""),
    row(
        "Content-Type becomes a form's",
        _set("Content-Type", "application/x-www-form-urlencoded"),
        "Content-Type|compressed",
    ),
    row(
        "Content-Type gets a charset",
        when(is_chat, _set("Content-Type", "application/json; charset=utf-8")),
        by="",
    ),
    row(
        "requests are marked as compressed",
        when(is_chat, _set("Content-Encoding", "gzip")),
        "compress|Content-Encoding",
    ),
    row(
        "a gateway adds a cookie of 20 KB",
        _set("Cookie", "a=" + "x" * 20_000),
        r"431|headers?",
        r"large|size|cookie|field",
    ),
)
_BODIES = (
    row(
        "the body is dropped", rewriting_body(lambda body: b""), "body|JSON|empty|text"
    ),
    row(
        "a byte order mark is put before the body",
        rewriting_body(lambda body: b"\xef\xbb\xbf" + body),
        "byte order mark|BOM|JSON",
    ),
    row("a gateway adds `user`", rewriting_json(lambda c: c.update(user="gw")), "user"),
    row(
        "a gateway renames the model",
        rewriting_json(lambda c: c.update(model="gpt-4o")),
        "model",
    ),
    row(
        "a filter masks numbers", _text(lambda text: re.sub(r"\d", "#", text)), "chang"
    ),
    row(
        "JSON is written anew with escapes",
        rewriting_body(lambda body: json.dumps(json.loads(body)).encode()),
        by="",
    ),
)
_TARGETS = (
    row(
        "POST becomes GET",
        rewriting(
            lambda call: (
                replace(call, method="GET", body=b"") if call.method == "POST" else call
            )
        ),
        "method|GET|POST",
    ),
    row(
        "GET becomes POST",
        rewriting(lambda call: replace(call, method="POST")),
        "method|GET|POST",
    ),
    row(
        "/v1 is removed from paths",
        _targets(lambda target: target.replace("/v1", "", 1)),
        "path|address",
    ),
    row(
        "only the path of completions is changed",
        _targets(lambda target: target.replace("/chat/completions", "/completions")),
        "path",
    ),
    row(
        "a parameter is added to completions",
        when(is_chat, _targets(lambda target: target + "?trace=1")),
        "parameter",
        id="http.refused",
    ),
    # RFC 9112 §3.2.2: a server must accept absolute URLs.
    row(
        "targets are sent as whole URLs",
        _targets(lambda target: "http://echo.example" + target),
        by="",
    ),
)

REQUESTS = kind_of("requests", *_HEADERS, *_BODIES, *_TARGETS)
