"""Reading a body: a frame finds the text."""

import json

import pytest

from readback.api.endpoints.chat import split_body
from readback.api.endpoints.refusal import Explanation, examine, explain

MODEL = "vendor-cabinet-preview-echo"


def body_of(text: str, **more: object) -> bytes:
    message = {"role": "user", "content": text}
    return json.dumps({"model": MODEL, "messages": [message], **more}).encode()


def refused(body: bytes) -> Explanation:
    findings = examine(body)
    assert not isinstance(findings, str)
    return explain(findings, "")


@pytest.mark.parametrize(
    "text", ["use", "contents", "\u0443ser", "x", '"', "\\", ":", ",", "}"]
)
def test_a_frame_is_the_bytes_around_the_text(text: str) -> None:
    body = body_of(text, stream=False)
    before, written, after = split_body(body)
    assert written == json.dumps(text).encode()
    assert before.endswith(b'"content": "')
    assert after == b'"}], "stream": false}'


@pytest.mark.parametrize("text", ["user", "content", MODEL, "role"])
def test_a_text_that_is_also_elsewhere_has_no_frame(text: str) -> None:
    assert split_body(body_of(text)) == (b"", json.dumps(text).encode(), b"")


def test_a_text_that_overlaps_its_like_has_no_frame() -> None:
    body = body_of(":").replace(b" ", b"")
    assert split_body(body) == (b"", b'":"', b"")


def test_a_text_keeps_the_escapes_that_it_was_sent_with() -> None:
    body = body_of("/").replace(b'"/"', b'"\\/"')
    assert split_body(body)[1] == b'"\\/"'


def test_the_limit_of_nesting_does_not_depend_on_the_stack() -> None:
    def details(frames: int) -> list[str]:
        if frames:
            return details(frames - 1)
        found = []
        for depth in range(300, 1200, 20):
            found.append(refused(b"[" * depth + b"]" * depth).detail)
        return found

    assert details(0) == details(250)
