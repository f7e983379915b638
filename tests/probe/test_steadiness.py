"""What happens only sometimes is told as that, with how often, and blamed on no other.

Every server here counts, so that it fails at the same requests in every run.
"""

import errno
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count

import pytest

from readback.probe.common.results import Diagnosis, Fixer, Service, Verdict
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.service import steadiness
from readback.probe.transport import connecting
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import MAX_REQUESTS, NotedRequest
from tests.probe.corruptions import PAGE
from tests.probe.forward_proxy import LOGIN, forward_proxy
from tests.probe.gateway import gateway
from tests.probe.probing import found, probed
from tests.probe.relay import (
    Relay,
    Request,
    RequestFilter,
    Response,
    relay,
    running,
    unchanged,
)
from tests.probe.setups import Arrange, ProbeInput, Resources, through_relay
from tests.support.authority import Authority
from tests.support.commands import free_port

# What these steps find comes from names and variables of the tests.
_ABOUT_THE_SETTING = ("address", "dns", "clients")
_WRONG = re.compile(
    "new key|intermediate|limits the number of connections|User-Agent|your store"
    "|another program|smaller"
)


def every(period: int, fail: Callable[[Request], Request | Response]) -> RequestFilter:
    """Let each request with this number, and its multiples, fail."""
    numbers, lock = count(1), threading.Lock()

    def change(request: Request) -> Request | Response:
        with lock:
            number = next(numbers)
        return request if number % period else fail(request)

    return change


def with_status(status: int) -> Callable[[Request], Response]:
    headers = {"Content-Type": "text/html", "Server": "balancer"}
    page = Response(status, "No", headers, PAGE % b"Sorry")
    return lambda _: page


def cut(request: Request) -> Request:
    raise ConnectionAbortedError


def report_of(arrange: Arrange, resources: Resources) -> ProbeReport:
    with arrange(resources) as probe_input:
        return probed(probe_input)


def assert_only(report: ProbeReport, id: str) -> None:
    """Check that the mixture is the verdict, and that nothing else is blamed."""
    shown = [f"{one.step} {one.diagnosis.id}" for one in report.results]
    problems = {
        one.diagnosis.id
        for one in report.results
        if one.diagnosis.verdict in (Verdict.FAIL, Verdict.WARN)
        and one.step not in _ABOUT_THE_SETTING
    }
    assert problems == {id}, shown
    assert report.fixer == Fixer.OPERATOR
    assert not _WRONG.search(report.sentence + report.next_step)
    assert report.requests <= MAX_REQUESTS


@pytest.mark.parametrize(
    "period",
    [2, 3, 7, *(pytest.param(each, marks=pytest.mark.long) for each in (4, 5, 6))],
)
@pytest.mark.parametrize(
    ("fail", "id"),
    [
        (with_status(502), "sometimes.fails"),
        (with_status(500), "sometimes.fails"),
        (cut, "sometimes.fails"),
    ],
    ids=["502", "500", "reset"],
)
def test_requests_that_fail_now_and_then_are_counted(
    fail: Callable, id: str, period: int, resources: Resources
) -> None:
    report = report_of(through_relay(every(period, fail)), resources)
    assert_only(report, id)
    diagnosis = found(report, id)
    bad, total = diagnosis.facts["bad"], diagnosis.facts["total"]
    assert isinstance(bad, int) and isinstance(total, int)
    assert total // period - 2 <= bad <= total // period + 1
    assert f"{bad} of {total} requests" in report.sentence
    if period > 2:
        found(report, "key.accepted")
        found(report, "echo.same")


def test_what_the_failures_have_in_common_is_shown(resources: Resources) -> None:
    failing = through_relay(every(3, with_status(502)))
    lines = found(report_of(failing, resources), "sometimes.fails").details
    assert lines[0] == "Neither address nor certificate tells them apart."
    assert lines[1].startswith("Failed at ")


@pytest.mark.parametrize(
    "is_first", [True, pytest.param(False, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("fault", ["expired", "unknown", "other name"])
def test_a_server_with_a_bad_certificate_is_told_from_the_others(
    fault: str,
    is_first: bool,
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority = resources.authority
    bad = {
        "expired": lambda: authority.serves(until=-timedelta(hours=1)),
        "unknown": lambda: Authority(resources.folder / "x", "Old CA").serves(),
        "other name": lambda: authority.serves("elsewhere.example"),
    }[fault]()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    upstream, good = resources.readback.base_url, authority.serves()
    in_turn = (good, bad) if is_first else (bad, good)
    with gateway(upstream, tls=lambda number: in_turn[number % 2]) as server:
        url = f"https://localhost:{server.port}/v1"
        report = probed(ProbeInput(url, resources.readback.api_key))
    assert_only(report, "sometimes.certificate")
    lines = found(report, "sometimes.certificate").details
    assert any(line.startswith("certificate: ") for line in lines)


@pytest.mark.parametrize("period", [2, 3])
def test_a_server_that_does_not_know_the_key_is_not_blamed_on_the_key(
    period: int, resources: Resources
) -> None:
    stale, headers = resources.revoked_key, "Authorization"

    def forget(request: Request) -> Request:
        known = {**request.headers, headers: f"Bearer {stale}"}
        return Request(request.method, request.target, known, request.body)

    fail = every(period, forget)

    def change(request: Request) -> Request | Response:
        return fail(request) if headers in request.headers else request

    report = report_of(through_relay(change), resources)
    assert_only(report, "sometimes.key")


@contextmanager
def two_addresses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the name two.example have two addresses, as a file of hosts does."""
    original = socket.getaddrinfo

    def resolve(host, port, *rest, **options):
        if host != "two.example":
            return original(host, port, *rest, **options)
        places = ("127.0.0.1", "127.0.0.2")
        return [row for one in places for row in original(one, port, *rest, **options)]

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


@pytest.mark.parametrize("other", ["127.0.0.1", "127.0.0.2"])
def test_an_address_of_the_host_that_is_another_service_is_named(
    other: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream, page = resources.readback.base_url, with_status(200)
    good = {"127.0.0.1": "127.0.0.2", "127.0.0.2": "127.0.0.1"}[other]
    port = free_port()
    with (
        running(Relay(upstream, good, unchanged, unchanged, port)),
        running(Relay("http://unused", other, page, unchanged, port)),
        two_addresses(monkeypatch),
    ):
        url = f"http://two.example:{port}/v1"
        report = probed(ProbeInput(url, resources.readback.api_key))
    assert_only(report, "sometimes.fails")
    details = found(report, "sometimes.fails").details
    (line,) = [one for one in details if one.startswith("address: ")]
    assert re.search(rf"{re.escape(other)}: ([1-9]\d*) of \1\b", line)
    assert f"{good}: 0 of " in line


def test_answers_that_are_swapped_are_told(resources: Resources) -> None:
    """Answer the second echo with the text of the first."""
    held: list[Response] = []

    def swap(response: Response) -> Response:
        if b"chat.completion" not in response.body:
            return response
        held.append(response)
        if len(held) != 2:
            return response
        content = json.loads(held[0].body)
        content["id"] = "another"
        return response.with_body(json.dumps(content).encode())

    report = report_of(through_relay(on_response=swap), resources)
    assert report.id == "echo.swapped"


def test_what_this_machine_lacks_is_not_counted_as_a_failure_of_the_path(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection after the first three finds no free file."""
    original, numbers = connecting.connect, count(1)

    def connect(*given):
        if next(numbers) > 3:
            raise OSError(errno.EMFILE, "Too many open files")
        return original(*given)

    monkeypatch.setattr(connecting, "connect", connect)
    readback = resources.readback
    report = probed(ProbeInput(readback.base_url, readback.api_key))
    assert report.id == "tcp.exhausted"
    assert not any(one.diagnosis.id.startswith("sometimes") for one in report.results)


@pytest.mark.parametrize("period", [2, 3])
def test_a_proxy_that_refuses_some_tunnels_is_told_with_how_often(
    period: int, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = resources.authority
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    upstream = resources.readback.base_url
    with relay(upstream, tls=authority.serves()) as server, forward_proxy() as proxy:
        proxy.refused_period = period
        address = f"http://{LOGIN}@127.0.0.1:{proxy.server_port}"
        monkeypatch.setenv("https_proxy", address)
        url = f"https://localhost:{server.server_port}/v1"
        report = probed(ProbeInput(url, resources.readback.api_key))
    diagnosis = found(report, "sometimes.proxy")
    assert report.id == "sometimes.proxy"
    assert diagnosis.fixer == Fixer.NETWORK
    assert re.search(r"\b[1-9]\d* of \d+ connections;", report.sentence)


_FAST = 0.02


@pytest.mark.parametrize(
    ("seconds", "id"),
    [
        ([_FAST] * 8 + [3.0, 3.1], "steady.slow"),
        ([_FAST] * 9 + [3.0], "steady.ok"),  # Once may be the start of a program.
        ([_FAST] * 8 + [0.9, 0.9], "steady.ok"),  # This machine may be busy.
        ([0.4] * 8 + [3.0, 3.0], "steady.ok"),
        ([3.0] * 10, "steady.ok"),
    ],
)
def test_a_few_answers_that_are_much_slower_are_told(
    seconds: list[float], id: str
) -> None:
    diagnosis = judged([("GET", one) for one in seconds])
    assert diagnosis.id == id
    if id == "steady.slow":
        assert (
            "of 10 took 3.1 s" in diagnosis.sentence and "20 ms" in diagnosis.sentence
        )


def test_one_kind_of_request_that_is_always_slow_is_not_slow_sometimes() -> None:
    gets, posts = [("GET", _FAST)] * 8, [("POST", 3.0)] * 2
    assert judged(gets + posts).id == "steady.ok"


@pytest.mark.parametrize(
    ("answers", "id"),
    [
        ([("GET", 0.3)] * 10, "steady.slow"),
        ([("GET", 0.3)] * 9 + [("GET", 0.2)], "steady.ok"),
        ([("GET", _FAST)] * 8 + [("POST", 0.3)] * 2, "steady.slow"),
    ],
)
def test_a_readback_that_always_takes_its_time_is_slow(
    answers: list[tuple[str, float]], id: str
) -> None:
    assert judged(answers, Service.READBACK).id == id


def judged(
    answers: list[tuple[str, float]], service: Service = Service.ENDPOINT
) -> Diagnosis:
    """Return what is said of a run with these answers: their method and seconds."""
    context = ProbeContext("http://127.0.0.1/v1", Secret(""))
    context.service = service
    context.base_url = BaseUrl("http", "127.0.0.1", 80, "/v1")
    for method, seconds in answers:
        one = NotedRequest(context.base_url.origin, method, "/", seconds=seconds)
        one.status, one.form, one.peer = 200, "{data}", "127.0.0.1"
        one.body = b"{}" if method == "POST" else b""
        context.budget.exchanges.append(one)
    (diagnosis,) = steadiness.check(context)
    assert diagnosis
    return diagnosis


def limiting(limit: int, is_counted: Callable[[Request], bool]) -> RequestFilter:
    numbers = count(1)
    headers = {"Content-Type": "application/json", "Retry-After": "30"}
    body = b'{"error":{"code":"rate_limited"}}'
    refusal = Response(429, "Too Many", headers, body)

    def change(request: Request) -> Request | Response:
        if is_counted(request) and next(numbers) > limit:
            return refusal
        return request

    return change


@pytest.mark.parametrize("limit", [12, 13])
def test_a_limit_that_the_run_itself_uses_up_is_told_as_that(
    limit: int, resources: Resources
) -> None:
    arrange = through_relay(limiting(limit, lambda _: True))
    report = report_of(arrange, resources)
    assert_only(report, "sometimes.rate_limited")
    assert "30 s" in report.next_step
    found(report, "key.accepted")
    assert report.requests < MAX_REQUESTS


def test_a_limit_before_the_key_was_tried_leaves_the_key_open(
    resources: Resources,
) -> None:
    report = report_of(through_relay(limiting(1, lambda _: True)), resources)
    assert_only(report, "sometimes.rate_limited_early")


def test_a_steady_service_is_called_steady(resources: Resources) -> None:
    readback = resources.readback
    report = probed(ProbeInput(readback.base_url, readback.api_key))
    total = found(report, "steady.ok").facts["total"]
    assert isinstance(total, int) and total >= 12
    assert report.requests <= 20
    assert "“steadiness”" not in text.as_long(report)
