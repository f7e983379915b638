"""The sentence of a 404 names the mistake."""

import pytest

from readback.api.endpoints.near_misses import explain_not_found


@pytest.mark.parametrize(
    "request_line, expected",
    [
        ("POST /chat/completions", "/v1 is missing"),
        ("GET /models", "/v1 is missing"),
        ("POST /v1/v1/chat/completions", "/v1 appears twice"),
        ("POST /v1chat/completions", "A slash is missing"),
        ("POST /v1/chat/completions/", "extra slash at the end"),
        ("POST /v1//chat/completions", "extra slash inside"),
        ("POST /api/v1/chat/completions", "something before /v1"),
        ("POST /V1/Chat/Completions", "case-sensitive"),
        ("POST /v1/responses", "Responses API"),
        ("POST /responses", "Responses API"),
        ("POST /v1/completions", "legacy Completions"),
        ("POST /v1/messages", "Anthropic"),
        ("GET /v1/models/vendor-cabinet-preview-echo", "A single model"),
        ("POST /v1/models", "only accepts GET"),
        ("GET /v1/chat/completions", "only accepts POST"),
        ("HEAD /v1/models", "only accepts GET"),
        ("GET /v1/models?limit=1", "no URL parameters"),
        ("GET /v1/models?", "no URL parameters"),
        ("OPTIONS *", "cannot use CORS"),
        ("GET /favicon.ico", "Nothing is served"),
    ],
)
def test_the_mistake_is_named(request_line: str, expected: str) -> None:
    method, target = request_line.encode().split(b" ")
    assert expected in explain_not_found(method, target)


@pytest.mark.parametrize("marker", [b"/s3cr3t-sk-echo", b"/v1/models?key=s3cr3t"])
def test_nothing_of_the_target_is_repeated(marker: bytes) -> None:
    assert "s3cr3t" not in explain_not_found(b"GET", marker)
    assert "s3cr3t" not in explain_not_found(b"s3cr3t", b"/v1/models")
