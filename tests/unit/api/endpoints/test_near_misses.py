"""The sentence of a 404 names the mistake."""

import pytest

from readback.api.endpoints.near_misses import name_the_slip


@pytest.mark.parametrize(
    "request_line, expected",
    [
        ("POST /chat/completions", "Is /v1 missing"),
        ("GET /models", "Is /v1 missing"),
        ("POST /v1/v1/chat/completions", "Is /v1 twice"),
        ("POST /v1chat/completions", "Is a slash missing"),
        ("POST /v1/chat/completions/", "slash too many at the end"),
        ("POST /v1//chat/completions", "slash too many inside"),
        ("POST /api/v1/chat/completions", "Something stands before /v1"),
        ("POST /V1/Chat/Completions", "Capital letters"),
        ("POST /v1/responses", "Responses API"),
        ("POST /responses", "Responses API"),
        ("POST /v1/completions", "legacy Completions"),
        ("POST /v1/messages", "Anthropic"),
        ("GET /v1/models/vendor-cabinet-preview-echo", "Single models"),
        ("POST /v1/models", "for GET alone"),
        ("GET /v1/chat/completions", "for POST alone"),
        ("HEAD /v1/models", "for GET alone"),
        ("GET /v1/models?limit=1", "no URL parameters"),
        ("GET /v1/models?", "no URL parameters"),
        ("OPTIONS *", "no CORS"),
        ("GET /favicon.ico", "Nothing is served"),
    ],
)
def test_the_mistake_is_named(request_line: str, expected: str) -> None:
    method, target = request_line.encode().split(b" ")
    assert expected in name_the_slip(method, target)


@pytest.mark.parametrize("marker", [b"/s3cr3t-sk-echo", b"/v1/models?key=s3cr3t"])
def test_nothing_of_the_target_is_repeated(marker: bytes) -> None:
    assert "s3cr3t" not in name_the_slip(b"GET", marker)
    assert "s3cr3t" not in name_the_slip(b"s3cr3t", b"/v1/models")
