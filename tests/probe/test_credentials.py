"""Where the key is sent, as the server sees it: each rule in docs/probe.md."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from readback.probe.common.results import FailureFamily, Verdict
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.context import ProbeContext
from tests.probe.gateway import (
    Behavior,
    Call,
    Reply,
    answering,
    as_json,
    gateway,
    has_key,
    page,
    pass_on,
    when,
)
from tests.probe.provider import KEY, MODEL
from tests.probe.setups import Resources
from tests.support.authority import Authority

HOST = "llm.example"
LIST = as_json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
REFUSED = as_json(401, {"message": "Unauthorized"})
ONCE, NEVER = [("GET", "/v1/models")], []
ELSEWHERE = "key.readback_elsewhere"
MADE_UP = "Bearer sk-echo-" + "0" * 38


class Recording:
    """A service that records which requests had the key."""

    def __init__(self, without_key: Behavior, with_key: Behavior = LIST) -> None:
        self._behave = when(has_key, with_key, without_key)
        self.with_key: list[tuple[str, str]] = []

    def __call__(self, call: Call) -> Reply:
        if call["Authorization"] not in ("", MADE_UP):
            self.with_key.append((call.method, call.target))
        return self._behave(call)


@contextmanager
def named(host: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Resolve this name to this machine, as a hosts file can."""
    original = socket.getaddrinfo

    def resolve(asked, port, *rest, **options):
        return original("127.0.0.1" if asked == host else asked, port, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


def probed(url: str, key: str = KEY, chat: str | None = None) -> ProbeReport:
    return ProbeRun(ProbeContext(url, Secret(key), 5.0, chat_model=chat)).run(STEPS)


@pytest.fixture
def run(resources: Resources, monkeypatch: pytest.MonkeyPatch):
    """Return a function that probes a service at a host name, by default over TLS."""
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))

    def run(service: Recording, host: str = HOST, scheme: str = "https", **given):
        authority: Authority = given.pop("authority", resources.authority)
        tls = [authority.serves(host)] if scheme == "https" else []
        entered = given.pop("entered", host)
        upstream = resources.readback.base_url
        with named(host, monkeypatch), gateway(upstream, service, tls=tls) as server:
            return probed(f"{scheme}://{entered}:{server.port}/v1", **given)

    return run


def _asking(*schemes: str) -> Behavior:
    def behave(call: Call) -> Reply:
        fields = tuple(
            ("WWW-Authenticate", f'{scheme} realm="x"') for scheme in schemes
        )
        return Reply(401, "No", fields, b"")

    return behave


@pytest.mark.parametrize(
    ("without_key", "sent"),
    [
        pytest.param(page(401, "401 Authorization Required"), ONCE, id="page-401"),
        pytest.param(REFUSED, ONCE, id="JSON-401"),
        pytest.param(answering(401), ONCE, id="empty-401"),
        pytest.param(_asking("Basic", "Bearer"), ONCE, id="also-Bearer"),
        pytest.param(as_json(403, {"message": "Forbidden"}), ONCE, id="JSON-403"),
        pytest.param(page(403, "Forbidden"), NEVER, id="page-403"),
        pytest.param(answering(403), NEVER, id="empty-403"),
        pytest.param(as_json(403, {"message": "Blocked"}), NEVER, id="blocked"),
        *(
            pytest.param(_asking(scheme), NEVER, id=scheme)
            for scheme in ("Basic", "Digest", "NTLM", "Negotiate")
        ),
        pytest.param(answering(302, Location="/login"), NEVER, id="redirect"),
        pytest.param(page(401, "Sign in"), NEVER, id="portal"),
        pytest.param(page(401, "", "<input type=password>"), NEVER, id="password"),
        pytest.param(page(403, "Just a moment..."), NEVER, id="challenge"),
        pytest.param(page(200, "Welcome"), NEVER, id="site"),
        pytest.param(as_json(404, {"detail": "Not Found"}), NEVER, id="JSON-404"),
    ],
)
def test_the_answer_without_the_key_decides(without_key, sent, run) -> None:
    service = Recording(without_key)
    report = run(service)
    assert service.with_key == sent, report.id
    found = {result.diagnosis.id for result in report.results}
    assert ("key.accepted" in found) == bool(report.key_sent_to) == bool(sent)


@pytest.mark.parametrize(
    ("host", "scheme", "entered", "sent"),
    [
        (HOST, "https", HOST, ONCE),
        ("localhost", "http", "localhost", ONCE),
        (HOST, "http", HOST, NEVER),
        ("api.openai.co", "https", "api.openai.co", NEVER),
        (HOST, "https", "llm[.]example", NEVER),
    ],
)
def test_the_host_must_be_the_one_that_was_meant(
    host: str, scheme: str, entered: str, sent: list, run
) -> None:
    service = Recording(REFUSED)
    report = run(service, host, scheme, entered=entered)
    assert service.with_key == sent, report.id
    if not sent:
        steps = {result.diagnosis.id for result in report.results}
        assert "key.kept" in steps, steps


def test_no_key_goes_through_an_interception_that_is_not_trusted(
    run, resources: Resources
) -> None:
    service = Recording(REFUSED)
    other = Authority(resources.folder / "zscaler", "Zscaler Root CA")
    assert run(service, authority=other).id == "tls.intercepted"
    assert service.with_key == NEVER


@pytest.mark.parametrize(
    ("without_key", "is_sent"),
    [
        (_asking("Basic"), True),
        (as_json(404, {"detail": "Not Found"}), True),
        (page(401, "Sign in"), False),
        (page(200, "Welcome"), False),
        (answering(302, Location="https://sso.example/"), False),
    ],
)
def test_a_model_to_ask_is_consent_except_for_pages_and_redirects(
    without_key: Behavior, is_sent: bool, run
) -> None:
    service = Recording(without_key)
    run(service, chat=MODEL)
    assert bool(service.with_key) == is_sent


def test_a_key_that_is_refused_is_not_sent_again(run) -> None:
    service = Recording(REFUSED, with_key=REFUSED)
    assert run(service).id == "key.refused_or_lost"
    assert service.with_key == ONCE


@pytest.mark.parametrize(
    "without_key",
    [
        REFUSED,
        page(401, "401 Authorization Required"),
        _asking("Basic"),
        answering(403, b"Authentication parameters missing"),
        page(403, "403 Forbidden"),
        as_json(400, {"message": "No API key was sent"}),
        as_json(401, {"error": "invalid_token"}),
        as_json(429, {"message": "API rate limit exceeded"}),
        answering(302, Location="https://sso.example/login"),
        answering(302, Location="/my.policy"),
        page(200, "Sign in", "<input type=password>"),
    ],
)
def test_an_answer_that_may_depend_on_a_readback_key_blames_nobody(
    without_key: Behavior, run, resources: Resources
) -> None:
    service = Recording(without_key, with_key=without_key)
    report = run(service, key=resources.readback.api_key)
    assert service.with_key == NEVER
    assert (report.id, report.verdict) == ("key.kept", Verdict.SKIP)
    assert report.family == FailureFamily.UNKNOWN
    assert not report.fixer
    said = ("known to be a Readback", "password", "login page")
    assert any(words in report.sentence for words in said)


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (page(200, "Welcome"), "http.html"),
        (page(403, "Access denied", "blocked by a rule"), "between.blocked"),
        (page(403, "Just a moment..."), "between.challenge"),
        (as_json(404, {"detail": "Not Found"}), "http.other_api"),
        (as_json(400, {"message": "Bad Request"}), "http.other_api"),
        (as_json(401, {"error": {"message": "x", "type": "y"}}), ELSEWHERE),
        (answering(302, Location="https://a.example/v1/models"), "http.redirect"),
    ],
)
def test_an_answer_that_no_key_would_change_is_told(
    answer: Behavior, finding: str, run, resources: Resources
) -> None:
    service = Recording(answer, with_key=answer)
    assert run(service, key=resources.readback.api_key).id == finding
    assert service.with_key == NEVER


@pytest.mark.parametrize(
    "without_key",
    [
        as_json(429, {"message": "API rate limit exceeded"}, Retry_After="30"),
        as_json(400, {"message": "No API key was sent"}),
        answering(302, Location="https://sso.example/login"),
        page(200, "Sign in", "<input type=password>"),
        REFUSED,
    ],
)
def test_a_readback_is_recognized_behind_a_gateway_that_only_wants_a_key(
    without_key: Behavior, run, resources: Resources
) -> None:
    """The gateway lets the probe's made-up key through, and Readback refuses it."""
    key = resources.readback.api_key
    service = Recording(without_key, with_key=pass_on)
    report = run(service, key=key)
    assert report.id == "ok", report.sentence
    assert report.key_sent_to == report.base_url.removesuffix("/v1")
    # Behind such a gateway, a revoked key is still recognized.
    report = run(Recording(without_key, with_key=pass_on), key=resources.revoked_key)
    assert report.id == "key.refused"


def test_a_gateway_that_guards_only_the_paths_of_the_api_gets_the_key(
    run, resources: Resources
) -> None:
    key = f"Bearer {resources.readback.api_key}"

    def behave(call: Call) -> Reply:
        is_open = call["Authorization"] == key or call.target == "/v1/probe"
        return pass_on(call) if is_open else REFUSED(call)

    assert run(behave, key=resources.readback.api_key).id == "ok"
