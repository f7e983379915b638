"""An intermittent failure is reported as such, with the number of failed requests.

The servers count requests, so the same requests fail in every run.
"""

import errno
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count

import pytest

from readback.probe.common.results import Fixer, Verdict
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.report import ProbeReport
from readback.probe.service import steadiness
from readback.probe.transport import connecting
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import MAX_REQUESTS, NotedRequest
from tests.probe.gateway import Behavior, closing, every, gateway, page
from tests.probe.probing import found, probed
from tests.probe.setups import (
    Arrange,
    ProbeInput,
    Resources,
    over_tls,
    serving,
    through,
)
from tests.support.commands import free_port

# These steps may warn about the host names and variables that the tests use.
_ABOUT_THE_SETTING = ("address", "dns", "clients")
_WRONG = re.compile(
    "new key|intermediate|limits the number of connections|User-Agent|your store"
    "|another program|smaller"
)


def report_of(arrange: Arrange, resources: Resources) -> ProbeReport:
    with arrange(resources) as probe_input:
        return probed(probe_input)


def assert_only(report: ProbeReport, finding: str) -> None:
    """Check that this is the only problem found, and that no wrong cause is named."""
    shown = [f"{result.step} {result.diagnosis.id}" for result in report.results]
    problems = {
        result.diagnosis.id
        for result in report.results
        if result.diagnosis.verdict in (Verdict.FAIL, Verdict.WARN)
        and result.step not in _ABOUT_THE_SETTING
    }
    assert problems == {finding}, shown
    assert report.fixer in (Fixer.OPERATOR, Fixer.EITHER, Fixer.SHARED)
    assert not _WRONG.search(report.sentence + report.next_step)
    assert report.requests <= MAX_REQUESTS


@pytest.mark.parametrize(
    "period",
    [2, 3, 7, *(pytest.param(each, marks=pytest.mark.long) for each in (4, 5, 6))],
)
@pytest.mark.parametrize("fail", [page(502, "Sorry"), closing], ids=["502", "closed"])
def test_requests_that_fail_now_and_then_are_counted(
    fail: Behavior, period: int, resources: Resources
) -> None:
    report = report_of(through(every(period, fail)), resources)
    assert_only(report, "sometimes.fails")
    diagnosis = found(report, "sometimes.fails")
    bad, total = diagnosis.facts["bad"], diagnosis.facts["total"]
    assert isinstance(bad, int) and isinstance(total, int)
    assert total // period - 2 <= bad <= total // period + 1
    assert f"{bad} of {total} requests" in report.sentence
    if period > 2:
        found(report, "key.accepted")
        found(report, "echo.same")


def test_what_the_failures_have_in_common_is_shown(resources: Resources) -> None:
    failing = through(every(3, page(502, "Sorry")))
    [line] = found(report_of(failing, resources), "sometimes.fails").details
    assert line == "Neither address nor certificate tells them apart."


def test_a_server_with_a_bad_certificate_is_told_from_the_others(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    expired = serving(until=-timedelta(hours=1))
    report = report_of(over_tls(serving(), expired), resources)
    assert_only(report, "sometimes.certificate")
    lines = found(report, "sometimes.certificate").details
    assert any(line.startswith("certificate: ") for line in lines)


@contextmanager
def two_addresses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the name two.example two addresses, as a hosts file can."""
    original = socket.getaddrinfo

    def resolve(host, port, *rest, **options):
        if host != "two.example":
            return original(host, port, *rest, **options)
        places = ("127.0.0.1", "127.0.0.2")
        return [
            row for place in places for row in original(place, port, *rest, **options)
        ]

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


@pytest.mark.parametrize("status", [200, 429, 503])
@pytest.mark.parametrize("other", ["127.0.0.1", "127.0.0.2"])
def test_an_address_of_the_host_that_is_another_service_is_named(
    other: str, status: int, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream, site = resources.readback.base_url, page(status, "Welcome")
    good = {"127.0.0.1": "127.0.0.2", "127.0.0.2": "127.0.0.1"}[other]
    port = free_port()
    with (
        gateway(upstream, address=(good, port)),
        gateway(upstream, site, address=(other, port)),
        two_addresses(monkeypatch),
    ):
        url = f"http://two.example:{port}/v1"
        report = probed(ProbeInput(url, resources.readback.api_key))
    assert_only(report, "sometimes.fails")
    details = found(report, "sometimes.fails").details
    (line,) = [line for line in details if line.startswith("address: ")]
    assert re.search(rf"{re.escape(other)}: ([1-9]\d*) of \1\b", line)
    assert f"{good}: 0 of " in line
    assert f"Every request to {other} failed" in report.next_step
    assert f"until it is fixed, use {good}" in report.next_step


def test_what_this_machine_lacks_is_not_counted_as_a_failure_of_the_path(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection after the first three fails, because too many files are open."""
    original, numbers = connecting.connect, count(1)

    def connect(*given):
        if next(numbers) > 3:
            raise OSError(errno.EMFILE, "Too many open files")
        return original(*given)

    monkeypatch.setattr(connecting, "connect", connect)
    readback = resources.readback
    report = probed(ProbeInput(readback.base_url, readback.api_key))
    assert report.id == "tcp.forbidden"
    assert not any(
        result.diagnosis.id.startswith("sometimes") for result in report.results
    )


@pytest.mark.parametrize(
    ("error", "finding"),
    [("http.silent", "sometimes.fails"), ("http.no_connection", "sometimes.lost")],
)
def test_packets_that_are_lost_are_not_blamed_on_the_servers(
    error: str, finding: str
) -> None:
    context = ProbeContext("http://127.0.0.1/v1", Secret(""))
    context.base_url = BaseUrl("http", "127.0.0.1", 80, "/v1")
    context.route = connecting.Route(context.base_url)
    for number in range(10):
        noted = NotedRequest(context.base_url.origin, "GET", "/")
        noted.status, noted.form = (200, "{data}") if number < 8 else (0, "")
        noted.error = "" if noted.status else error
        context.budget.exchanges.append(noted)
    (diagnosis,) = steadiness.check(context)
    assert diagnosis.id == finding
    assert "2 of 10 requests" in diagnosis.sentence
