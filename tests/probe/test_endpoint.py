"""Endpoints other than Readback: what is recognized, and where the key is sent.

Every server records its requests, so the tests know where a key arrived.
"""

import json
from contextlib import ExitStack
from dataclasses import replace
from email.message import Message

import pytest

from readback.probe.common.results import Service
from readback.probe.entered import PROVIDERS
from readback.probe.entered.key import Secret
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import ProbeResponse
from tests.probe.gateway import (
    Call,
    Reply,
    editing,
    gateway,
    pass_on,
)
from tests.probe.provider import (
    KEY,
    MODEL,
    STREAM,
    Answer,
    completion,
    error,
    provider,
)
from tests.support.server import Server


def probed(url: str, key: str = KEY, chat: str | None = None) -> ProbeReport:
    context = ProbeContext(url, Secret(key), 5.0, chat_model=chat)
    return ProbeRun(context).run(STEPS)


def ids(report: ProbeReport) -> dict[str, str]:
    """Return the last id of each step."""
    return {result.step: result.diagnosis.id for result in report.results}


def facts(report: ProbeReport, step: str) -> dict:
    return dict(next(r.diagnosis.facts for r in report.results if r.step == step))


def test_without_chat_nothing_is_sent_that_may_cost() -> None:
    with provider() as server:
        report = probed(server.base_url)
    assert report.id == "ok"
    assert {request.method for request in server.requests} == {"GET"}
    found = ids(report)
    assert (found["access"], found["models"]) == ("key.accepted", "models.listed")
    assert list(found)[6:] == ["http", "access", "models", "steady"]


def test_a_key_of_another_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "127.0.0.1", "")
    with provider() as server:
        report = probed(server.base_url, key=f"sk-ant-api03-{'aB3' * 9}")
    assert report.id == "key.other_service"
    assert "api.anthropic.com" in report.sentence


def test_chat_asks_once_in_one_piece_and_once_as_a_stream() -> None:
    with provider() as server:
        report = probed(server.base_url, chat=MODEL)
    assert report.id == "ok", ids(report)
    assert ids(report)["models"] == "models.listed"
    bodies = [json.loads(request.body) for request in server.requests if request.body]
    assert [body["stream"] for body in bodies] == [False, True]
    assert all(body["model"] == MODEL and body["max_tokens"] < 100 for body in bodies)
    stream = facts(report, "stream")
    assert stream["parts"] == len(STREAM) - 1
    assert 20 <= stream["first_milliseconds"] < stream["total_milliseconds"]


def test_a_limit_of_tokens_under_its_newer_name_is_tried_once() -> None:
    with provider(token_limit="max_completion_tokens") as server:
        report = probed(server.base_url, chat=MODEL)
    assert report.id == "ok", ids(report)
    # The refused request, its repetition with the new parameter, and the stream.
    assert sum(request.method == "POST" for request in server.requests) == 3
    assert "must send max_completion_tokens" in text.as_short(report)


def test_a_400_that_asks_for_a_key_gets_it() -> None:
    refusal = Answer(400, b'{"error": "Incorrect API key provided: xa***AB."}')
    with provider(without_key=refusal) as server:
        report = probed(server.base_url)
    assert ids(report)["access"] == "key.accepted"


def test_a_key_that_is_a_plain_word_is_sent_where_nothing_asks_for_it() -> None:
    with provider(without_key=Answer(403), wrong_key=Answer(403)) as server:
        report = probed(server.base_url, key="ollama")
        kept = probed(server.base_url)
    assert (report.id, kept.id) == ("between.forbidden", "key.kept")
    assert "--host-header" in report.next_step


@pytest.mark.parametrize(("status", "who"), [(401, "a gateway"), (403, "Your key may")])
def test_advice_after_a_refused_completion_fits_what_was_run(
    status: int, who: str
) -> None:
    refusal = Answer(status, error(message="Not for you", type="auth"))
    with provider(completed=refusal) as server:
        report = probed(server.base_url, chat=MODEL)
    assert report.id == "endpoint.refused"
    assert who in report.next_step
    assert "--chat" not in report.next_step


def test_a_429_that_was_answered_later_is_shown() -> None:
    refused: list[str] = []

    def once(call: Call) -> Reply:
        if refused or not call["Authorization"]:
            return pass_on(call)
        refused.append(call.target)
        return Reply(429)

    with provider() as server, gateway(server.base_url, once) as busy:
        report = probed(busy.base_url)
    assert report.id == "ok", ids(report)
    assert "429" in text.as_short(report)


@pytest.mark.parametrize(
    ("status", "location", "is_kept"),
    [
        (308, "https://a.example/v1/models", True),
        (307, "https://a.example/v1/models", True),
        (301, "https://a.example/v1/models", False),
        (308, "https://b.example/v1/models", False),
        (308, "https://a.example/", False),
    ],
)
def test_only_a_redirect_that_keeps_the_text_is_an_upgrade(
    status: int, location: str, is_kept: bool
) -> None:
    headers = Message()
    headers["Location"] = location
    url = "http://a.example/v1/models"
    assert ProbeResponse(url, status, headers, b"", 0.0).is_upgrade == is_kept


def test_a_completion_without_usage_is_a_completion() -> None:
    with provider(completed=Answer(200, completion(usage=None))) as server:
        report = probed(server.base_url, chat=MODEL)
    assert ids(report)["chat"] == "chat.completed"


def test_a_server_that_needs_no_key_works_without_one() -> None:
    with provider(key=None) as server:
        report = probed(server.base_url, key="")
    assert report.id == "ok", ids(report)
    assert ids(report)["access"] == "endpoint.open"
    assert report.key_sent_to is None
    assert "set OPENAI_API_KEY to any word" in " ".join(text.as_short(report).split())


def test_a_public_list_of_models_does_not_prove_that_a_key_is_accepted() -> None:
    with provider(key=None) as server:
        report = probed(server.base_url)
    assert ids(report)["access"] == "endpoint.open"
    assert report.key_sent_to == server.base_url.removesuffix("/v1")


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":"Unauthorized"}',
        b'{"object":"error","message":"No key","type":"x","code":401}',
        b'{"detail":"Not authenticated"}',
        b'{"message":"No API key found in request"}',
    ],
)
def test_every_usual_form_of_401_is_from_an_api(body: bytes) -> None:
    with provider(without_key=Answer(401, body)) as server:
        assert probed(server.base_url).id == "ok"


@pytest.mark.parametrize(
    "echoed",
    [KEY, f"{KEY[:10]}...{KEY[-6:]}", f"{KEY[:3]}********{KEY[-4:]}", KEY[8:30]],
)
def test_an_error_that_repeats_the_key_is_shown_without_it(echoed: str) -> None:
    refusal = Answer(401, error(message=f"Wrong key: {echoed}, sorry."))
    with provider(key="another", wrong_key=refusal) as server:
        report = probed(server.base_url)
    assert report.id == "key.refused"
    shown = text.as_json(report) + text.as_short(report) + text.as_long(report)
    assert "Wrong key" in shown
    assert not any(KEY[place : place + 4] in shown for place in range(8, len(KEY) - 3))


def test_a_key_arrives_only_where_an_api_of_its_kind_responds(readback: Server) -> None:
    kind = {"Content-Type": "text/html"}
    portal = Answer(200, b"<!doctype html><title>Hotel Wi-Fi</title>", kind)
    with ExitStack() as stack:
        run = lambda **options: stack.enter_context(provider(**options))  # noqa: E731
        target = run()
        location = {"Location": f"{target.base_url}/models"}
        strangers = [
            run(without_key=Answer(307, headers=location), elsewhere=portal),
            run(without_key=Answer(403, portal.body, kind), elsewhere=portal),
            run(without_key=Answer(401, b"login", {"WWW-Authenticate": "Basic"})),
            run(without_key=Answer(404, b'{"detail":"Not Found"}')),
            run(without_key=Answer(403, b'{"error":"This site is blocked."}')),
        ]
        for server in strangers:
            report = probed(server.base_url)
            assert report.verdict in ("fail", "skip")
            assert report.key_sent_to is None
            assert "The key was not sent." in text.as_long(report)
            assert server.authorizations == [], ids(report)
        assert target.requests == []  # Redirects are not followed.

        for key in (KEY, readback.api_key):
            with provider() as other:
                report = probed(other.base_url, key)
            sent = [sent for sent in other.authorizations if sent == f"Bearer {key}"]
            assert len(sent) == (key == KEY)

    seen = []
    noting = lambda call: seen.append(call["Authorization"]) or pass_on(call)  # noqa: E731
    with gateway(readback.base_url, noting) as server:
        report = probed(server.base_url, KEY)
    assert report.id == "key.other_service"
    assert set(seen) == {""}


def strip_headers(reply: Reply) -> Reply:
    """Remove every header whose name starts with X-, as some gateways do."""
    kept = tuple(field for field in reply.fields if not field[0].startswith("X-"))
    return replace(reply, fields=kept)


def test_a_readback_without_its_headers_is_probed_like_any_other(
    readback: Server,
) -> None:
    with gateway(readback.base_url, editing(strip_headers)) as server:
        report = probed(server.base_url, readback.api_key)
    warnings = [r.diagnosis.id for r in report.results if r.diagnosis.verdict != "ok"]
    assert warnings == ["tls.none"]
    assert report.service == Service.READBACK


def test_without_its_headers_a_refused_key_is_not_called_lost(resources) -> None:
    with gateway(resources.readback.base_url, editing(strip_headers)) as server:
        report = probed(server.base_url, resources.revoked_key)
    assert ids(report)["access"] == "key.refused_or_lost"


def test_an_api_with_the_same_404_is_not_taken_for_a_readback(readback: Server) -> None:
    with provider(elsewhere=Answer(404, error(code="not_found"))) as server:
        report = probed(server.base_url, readback.api_key)
    assert report.id == "key.readback_elsewhere"
    assert f"Bearer {readback.api_key}" not in server.authorizations


@pytest.mark.parametrize(
    ("path", "entered", "found"),
    [
        ("", "", []),
        ("/v1beta/openai", "/v1beta/openai", []),
        ("/v1", "", ["address.corrected"]),
        ("/api/v1", "/api", ["address.corrected"]),
        ("/v1", "/v3", ["address.corrected"]),
    ],
)
def test_only_a_version_that_the_service_needs_is_missed(
    path: str, entered: str, found: list[str]
) -> None:
    with provider(path=path) as server:
        origin = server.base_url.removesuffix(path)
        report = probed(f"{origin}{entered}")
    failures = [r.diagnosis.id for r in report.results if r.diagnosis.verdict == "fail"]
    assert failures == found
    assert report.base_url == server.base_url
    assert ids(report)["access"] == "key.accepted"
    assert len(server.authorizations) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"[" * 100_000),
        (200, b'{"data":[null],"choices":[null]}'),
        (200, b'data: {"choices":[1]}\ndata: [1]\ndata: {"error":1}\n'),
        (401, b'{"error":{"message":{"a":1},"code":["x"]}}'),
        (404, b'{"error":{"code":["not_found"]}}'),
        (404, b'[{"error":{"message":"model","code":404}}]'),
        (599, b"\xff\xfe\x00"),
        (999, b'{"object":"error","message":"\\ud800\\u001b[31m"}'),
    ],
    ids=range(9),
)
def test_a_hostile_body_never_ends_a_step(status: int, body: bytes) -> None:
    answer = Answer(status, body)
    with provider(key=None, models=answer, completed=answer, streamed=answer) as server:
        first = probed(server.base_url, chat=MODEL)
        server.behavior.models = (MODEL, "\x1b[31m\ud800")
        second = probed(server.base_url, chat=MODEL)
        server.behavior.completed = Answer(200, completion())
        third = probed(server.base_url, chat=MODEL)
    for report in (first, second, third):
        assert "probe.unexpected" not in ids(report).values()
        assert "\x1b" not in text.as_long(report) + text.as_json(report)
