"""Something changes answers in transit."""

import gzip
import json
from dataclasses import replace

from tests.probe.gateway import (
    Reply,
    answering,
    cached,
    closing,
    editing,
    editing_body,
    editing_json,
    is_chat,
    is_models,
    when,
    with_fields,
)
from tests.probe.misfortunes.arranging import kind_of, row

_FIELDS = (row("id is removed", editing_json(lambda c: c.pop("id")), r"\bid\b"),)


def _recoded(name: str):
    return editing_body(lambda body: body.decode().encode(name, "replace"))


def _compressed(coding: str, compress):
    def change(reply: Reply) -> Reply:
        body = compress(reply.body)
        return replace(reply.with_field("Content-Encoding", coding), body=body)

    return editing(change)


def _length(change):
    return editing(
        lambda reply: reply.with_field("Content-Length", str(change(reply.body)))
    )


def _cut_inside_character(reply: Reply) -> Reply:
    place = next((n for n, byte in enumerate(reply.body) if byte >= 0xC0), None)
    return reply if place is None else replace(reply, body=reply.body[: place + 1])


def _cut(share: float, *, framed: bool):
    def change(reply: Reply) -> Reply:
        kept = int(len(reply.body) * share)
        if framed:
            return replace(reply, keep=kept)
        return replace(reply, body=reply.body[:kept])

    return editing(change)


_BYTES = (
    row(
        "answers are recoded to Windows-1251",
        _recoded("cp1251"),
        "encoding|UTF-8",
        id="echo.changed",
    ),
    row("a body is cut inside a character", editing(_cut_inside_character), "cut"),
    row(
        "answers are cut in half, and say so",
        _cut(0.5, framed=True),
        "cut|closed|before its end",
    ),
    row(
        "Content-Length counts characters",
        _length(lambda b: len(b.decode())),
        "Content-Length|length|characters|cut",
    ),
    row(
        "answers are marked as br",
        _compressed("br", lambda b: b),
        "br\\b|compress",
        id="http.spoiled",
    ),
    row(
        "answers are compressed, and not marked",
        editing_body(gzip.compress),
        "compress",
    ),
    row(
        "the compressed answer is damaged",
        _compressed("gzip", lambda b: gzip.compress(b)[:-9] + b"123456789"),
        "compress|extra bytes",
    ),
    row(
        "a script is appended",
        editing_body(lambda b: b + b"<script></script>"),
        "extra|append|after",
    ),
    row(
        "a line is put before the JSON",
        editing_body(lambda b: b")]}',\n" + b),
        "before|JSON|not|prefix",
    ),
    row(
        "JSON is indented",
        editing_body(lambda b: json.dumps(json.loads(b), indent=2).encode()),
        by="",
    ),
)
_FIELDS_OF_HTTP = (
    row(
        "Content-Type becomes text/html",
        with_fields(Content_Type="text/html"),
        "Content-Type|text/html",
    ),
    row(
        "103 Early Hints comes before answers",
        editing(
            lambda r: replace(
                r,
                before=b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
            )
        ),
        by="",
    ),
    row(
        "an empty line comes before answers",
        editing(lambda r: replace(r, before=b"\r\n")),
        "first line|HTTP|malformed",
        id="http.malformed",
    ),
    row(
        "a field has no colon",
        editing(
            lambda r: replace(r, fields=(("Broken header line\r\nX-A", "1"), *r.fields))
        ),
        "HTTP|header|field",
    ),
)
_CACHES = (
    row(
        "every answer is cached",
        cached(),
        "cache|recording|same response",
        id="echo.replayed",
    ),
    row(
        "the model list is cached for everybody",
        when(is_models, cached()),
        "cache|recording|same|key",
    ),
    row("a cache says MISS", with_fields(X_Cache="MISS from cdn"), by=""),
    row(
        "only texts are redirected, to the path with a slash",
        when(is_chat, lambda call: answering(301, Location=f"{call.target}/")(call)),
        "other than the service",
        by="network operator",
        id="between.other_response",
    ),
    row(
        "each connection is closed after an answer that does not say so",
        when(lambda call: call.place > 1, closing),
        by="",
    ),
    row(
        "ids repeat, texts do not",
        editing_json(lambda c: c.update(id="3b1f8a1e-54bd-4d13-9a68-9f0b7a33cf0e")),
        "cache|recording|same|X-Request-Id",
    ),
)

ANSWERS = kind_of("answers", *_FIELDS, *_BYTES, *_FIELDS_OF_HTTP, *_CACHES)
