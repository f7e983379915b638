"""Reading a body: the decoder accepts exactly what the examination accepts."""

import json

from tests.support.tables import each

from readback.api.endpoints.exchange import decode
from readback.api.endpoints.refusal import examine

MODEL = "vendor-cabinet-preview-echo"


def body_of(text: str, **more: object) -> bytes:
    message = {"role": "user", "content": text}
    return json.dumps({"model": MODEL, "messages": [message], **more}).encode()


USUAL = body_of("Text: \u00e4 \U0001f600 {", stream=False, max_tokens=2000)
RAW = json.dumps(json.loads(USUAL), ensure_ascii=False, separators=(",", ":")).encode()
SHORT = json.dumps(json.loads(body_of("x")), separators=(",", ":")).encode()
# Bodies that break one rule are in tests/conformance, and random ones in tests/fuzz.
TRAPS = {
    "usual": USUAL,
    "raw": RAW,
    "spaces around values": USUAL.replace(b"2000", b" \t\r\n2000 \n "),
    "space around it": b" \n" + USUAL + b"\r\t",
    "escapes in a name": USUAL.replace(b'"content"', b'"c\\u006fntent"'),
    "escapes in the model": USUAL.replace(b"vendor", b"\\u0076endor"),
    "an escaped colon in a name": USUAL.replace(b'"role"', b'"role\\u003a"'),
    "a short body": SHORT,
    "a content twice in a short body": SHORT.replace(b'"role"', b'"content":0,"role"'),
    "no colons": body_of("x"),
    "only colons": body_of("::::"),
    "as long as allowed": body_of("a" * 8192),
    "long in bytes": RAW.replace(b"Text", "\u044f".encode() * 4097),
    "long in escapes": body_of("\u044f" * 4096),
    "long, in pairs": body_of("\U0001f600" * 2049),
    "a pair apart": USUAL.replace(b"\\u00e4", b"\\ud83d \\ude00"),
    "NUL": USUAL.replace(b"Text", b"T\\u0000xt"),
    "deep": body_of("x").replace(b'"x"', b"[" * 1000 + b"]" * 1000),
    "deep elsewhere": body_of("x")[:-1] + b',"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
}


@each("body", TRAPS)
def test_a_body_is_judged_alike(body: bytes) -> None:
    examined = examine(body)
    decoded = decode(body)
    assert (decoded is not None) == isinstance(examined, str)
    if decoded is not None:
        written, size = decoded
        assert json.loads(written) == examined
        assert size == len(str(examined).encode())
        assert written in body


def test_a_text_keeps_the_escapes_that_it_was_sent_with() -> None:
    assert decode(body_of("/").replace(b'"/"', b'"\\/"')) == (b'"\\/"', 1)
