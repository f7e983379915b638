"""What responds instead of the service is told in its own words."""

import json
import re
from dataclasses import replace

import pytest

from readback.probe.common.results import Fixer, Verdict
from readback.probe.report import ProbeReport
from tests.probe import corruptions
from tests.probe.probing import found, probed
from tests.probe.provider import KEY, MODEL, Answer, error, provider
from tests.probe.relay import Response
from tests.probe.setups import (
    ProbeInput,
    Resources,
    entered_as,
    responding,
    through_relay,
)
from tests.probe.setups_network import behind_forward_proxy

CLOUDFLARE = {"Server": "cloudflare", "CF-RAY": "8f2a-FRA"}
AMAZON = {"x-amzn-ErrorType": "Any"}
KUBERNETES = {"kind": "Status", "message": 'User "system:anonymous" cannot get path'}
PAGE = {"Content-Type": "text/html"}
TITLE = "<!doctype html><title>{}</title>"

OWN = {"X-Request-Id": "1", "X-Error-Detail": "No.", "WWW-Authenticate": "Bearer"}
REFUSAL = '{"error":{"code":"invalid_key"}}'

RESPONSES = [
    # The status, the headers, the body, the id, and words of the sentence.
    (
        520,
        CLOUDFLARE,
        "",
        "http.gateway",
        "520 without an explanation: it cannot reach",
    ),
    (522, CLOUDFLARE, "", "http.gateway", "cannot reach the service"),
    (524, CLOUDFLARE, "", "http.gateway", "did not respond in time"),
    (525, CLOUDFLARE, "", "http.gateway", "TLS connection"),
    (
        530,
        CLOUDFLARE,
        "error code: 1016",
        "http.gateway",
        "“error code: 1016”: it cannot reach",
    ),
    (530, CLOUDFLARE, "error code: 1033", "http.gateway", "error code: 1033"),
    (403, CLOUDFLARE, "error code: 1020", "between.blocked", "Cloudflare in front"),
    (429, CLOUDFLARE, "error code: 1015", "between.rate_limited", "1015"),
    (502, {}, "ERR_NGROK_8012", "http.gateway", "“ERR_NGROK_8012”"),
    (
        403,
        AMAZON,
        {"message": "Missing Authentication Token"},
        "http.no_such_path",
        "no",
    ),
    (
        504,
        AMAZON,
        {"message": "Timed out"},
        "http.gateway",
        "Amazon responded with 504 “Timed out”",
    ),
    (403, {}, KUBERNETES, "http.no_such_path", "system:anonymous"),
    (503, {"Server": "envoy"}, "no healthy upstream", "http.gateway", "no healthy up"),
    (503, {"Server": "kong/3.4"}, {"message": "no peer"}, "http.gateway", "“no peer”"),
    (
        404,
        {"Server": "AmazonS3", "Content-Type": "application/xml"},
        "<Error><Code>NoSuchBucket</Code><Message>None here</Message></Error>",
        "http.no_such_path",
        "“None here”",
    ),
    (500, {}, {"message": "filter failed"}, "http.server_error", "“filter failed”"),
    (503, {"Retry-After": "9"}, {"message": "no"}, "http.gateway", "after 9 s"),
    (404, {}, {"detail": "Not Found"}, "http.other_api", "404 “Not Found”"),
    (200, {}, {"msg": "no tenant", "code": 1}, "http.other_api", "“no tenant”"),
    (401, {"WWW-Authenticate": "Basic"}, "Staging", "key.other_refusal", "“Staging”"),
    (200, PAGE, TITLE.format("Sign in"), "http.login_wall", "“Sign in”"),
    (200, PAGE, "<input type=password>", "http.login_wall", "without an explanation"),
    (200, PAGE, TITLE.format("Just a moment..."), "between.challenge", "test"),
    (401, OWN, f"cb({REFUSAL})", "http.spoiled", "begins with cb("),
    (401, OWN, json.dumps(REFUSAL), "http.spoiled", "damaged"),
    (401, OWN, REFUSAL[:-1], "http.spoiled", "after 31 bytes"),
    (401, OWN, "eyJlcnJvciI", "http.spoiled", "damaged"),
    (404, OWN, "", "http.spoiled", "it is empty"),
    (451, PAGE, TITLE.format("Legal Reasons"), "between.blocked", "“Legal Reasons”"),
    (200, PAGE, TITLE.format("Request Rejected"), "between.blocked", "Rejected"),
    (202, {}, {}, "http.other", "202"),
    (404, {}, [{"error": {"code": 404, "message": "G"}}], "http.no_such_path", "“G”"),
]
LOCATIONS = [
    ("http://192.0.2.1:8123/v1/models", "http.redirect", "http://192.0.2.1:8123/v1/m"),
    (
        "https://a.example/api/v1/models",
        "http.redirect",
        "Use https://a.example/api/v1 ",
    ),
    ("/users/sign_in?next=1", "http.login_wall", "/users/sign_in)"),
    ("https://x.okta.com/o/v1?state=s3", "http.login_wall", "https://x.okta.com/o/v1)"),
    (
        "http://127.0.0.1:8880/guest/s/",
        "http.captive_portal",
        "127.0.0.1:8880/guest/s/",
    ),
    ("http://[", "http.redirect", "an invalid address"),
]


def report_of(resources: Resources, status: int, headers, body) -> ProbeReport:
    text = body if isinstance(body, str) else json.dumps(body)
    response = Response(status, "Instead", headers, text.encode())
    with through_relay(on_response=lambda _: response)(resources) as probe_input:
        return probed(probe_input)


@pytest.mark.parametrize(("status", "headers", "body", "id", "words"), RESPONSES)
def test_a_gateway_is_quoted_and_explained(
    status: int, headers, body, id: str, words: str, resources: Resources
) -> None:
    report = report_of(resources, status, headers, body)
    assert words in found(report, id).sentence
    assert report.id == id
    assert report.key_sent_to is None


@pytest.mark.parametrize(("location", "id", "words"), LOCATIONS)
def test_the_target_of_a_redirect_is_shown_with_its_port(
    location: str, id: str, words: str, resources: Resources
) -> None:
    report = report_of(resources, 302, {"Location": location}, "")
    diagnosis = found(report, id)
    assert words in f"{diagnosis.sentence} {diagnosis.hint} "
    assert "s3" not in repr(report)


@pytest.mark.parametrize("early", [b"103 Early Hints", b"102 Processing", b"199 Odd"])
def test_interim_responses_do_not_matter(early: bytes, resources: Resources) -> None:
    before = b"HTTP/1.1 %b\r\nX-Early: 1\r\n\r\n" % early
    announced = through_relay(
        on_response=lambda response: replace(response, before=before * 2)
    )
    with announced(resources) as probe_input:
        report = probed(probe_input)
    assert report.verdict == Verdict.OK, report.sentence


@pytest.mark.parametrize(
    ("pattern", "replacement", "words"),
    [
        (rb'"index":0', b'"index":1', "choices.0.index"),
        (rb',"finish_reason":"stop"', b"", "finish_reason"),
        (rb'"role":"assistant"', b'"role":"user"', "message.role"),
        (rb'"chat.completion"', b'"completion"', "object"),
        (rb'"created":\d+', b'"created":"now"', "created"),
        (rb',"usage":\{[^}]*\}', b"", "usage.total_tokens"),
    ],
)
def test_a_changed_field_of_a_completion_is_named(
    pattern: bytes, replacement: bytes, words: str, resources: Resources
) -> None:
    changed = through_relay(
        on_response=lambda response: response.with_body(
            re.sub(pattern, replacement, response.body)
        )
    )
    with changed(resources) as probe_input:
        report = probed(probe_input, "latency")
    assert words in found(report, "between.changed").sentence


def test_a_cache_is_recognized_although_the_text_is_another(
    resources: Resources,
) -> None:
    kept: list[Response] = []

    def keep(response: Response) -> Response:
        if b"chat.completion" not in response.body:
            return response
        kept.append(response)
        return kept[0]

    with through_relay(on_response=keep)(resources) as probe_input:
        report = probed(probe_input)
    ids = {one.diagnosis.id for one in report.results}
    assert "echo.replayed" in ids
    assert "echo.changed" not in ids


@pytest.mark.parametrize("password", ["wrong", "100%", "p@ss"])
def test_a_wrong_password_of_the_proxy_is_not_a_missing_one(
    password: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with behind_forward_proxy()(resources) as probe_input:
        for name, value in probe_input.environment.items():
            monkeypatch.setenv(name, value.replace("hush", password))
        report = probed(probe_input)
    assert report.id == "proxy.login_refused"
    assert password not in report.sentence


@pytest.mark.parametrize("path", ["/api/v1", "/openai/v1", "/v1beta/openai"])
def test_the_path_of_another_provider_is_found(path: str, resources: Resources) -> None:
    with provider(path=path) as server:
        url = server.base_url.replace(path, "/v1")
        report = probed(ProbeInput(url, KEY, timeout=5.0))
        right = server.base_url
    assert right in found(report, "address.corrected").hint
    found(report, "key.accepted")
    with entered_as(lambda url: url.replace("/v1", path))(resources) as probe_input:
        report = probed(probe_input, "latency")
    assert resources.readback.base_url in found(report, "address.corrected").hint
    found(report, "echo.same")


@pytest.mark.parametrize(
    ("message", "code", "id"),
    [
        (f'model "{MODEL}" not found, try pulling it first', None, "chat.no_model"),
        ("The requested model does not exist", None, "chat.no_model"),
        ("It does not exist.", "DeploymentNotFound", "chat.no_model"),
        ("Invalid URL (POST /v1/models/chat/completions)", None, "endpoint.refused"),
    ],
)
def test_a_missing_model_is_not_a_missing_path(
    message: str, code: str | None, id: str
) -> None:
    completed = Answer(404, error(message=message, code=code))
    with provider(completed=completed) as server:
        report = probed(ProbeInput(server.base_url, KEY, timeout=5.0, chat=MODEL))
    assert report.id == id
    assert message in found(report, id).sentence.replace("”", "")


def test_a_gateway_that_requires_its_own_key_is_quoted(resources: Resources) -> None:
    body = json.dumps({"message": "No API key found in request"}).encode()
    with responding(401, body)(resources) as probe_input:
        report = probed(probe_input)
    assert "401 “No API key found" in found(report, "key.readback_elsewhere").sentence


def test_a_block_by_user_agent_is_recognized_behind_a_gateway(
    resources: Resources,
) -> None:
    blocked = Response(403, "No", {"Server": "cloudflare"}, b"error code: 1010")

    def block(request):
        return blocked if "probe" in request.headers["User-Agent"] else request

    with through_relay(block)(resources) as probe_input:
        report = probed(probe_input, "latency")
    assert report.id == "between.program_blocked"
    assert report.fixer == Fixer.NETWORK


def test_a_body_that_is_cut_anywhere_is_a_cut(resources: Resources) -> None:
    def cut(response: Response) -> Response:
        is_text = b"chat.completion" in response.body
        return response.with_body(response.body[:200]) if is_text else response

    for change in (cut, corruptions.cut_in_a_character):
        with through_relay(on_response=change)(resources) as probe_input:
            ids = {one.diagnosis.id for one in probed(probe_input).results}
        assert "http.spoiled" in ids
        assert not ids & {"echo.changed", "between.other_response"}


def test_a_cache_of_everything_is_not_a_removed_key(resources: Resources) -> None:
    kept: dict[str, Response] = {}

    def keep(request):
        return kept.get(request.target, request)

    def store(response: Response) -> Response:
        if b"invalid_key" in response.body:
            kept.setdefault("/v1/models", response)
        return response

    with through_relay(keep, store)(resources) as probe_input:
        report = probed(probe_input)
    assert report.id == "echo.replayed"
