"""What is in between: what the scenarios do not show, and no false alarm."""

from pathlib import Path
from threading import Event

import pytest

from readback.probe.common.results import Fixer, Verdict
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.transport.exchanges import MAX_REQUESTS
from tests.probe.probing import found, probed
from tests.probe.relay import (
    Relay,
    Request,
    running,
    unchanged,
)
from tests.probe.reverse_proxies import COMMANDS, reverse_proxy
from tests.probe.setups import Arrange, ProbeInput, Resources, through_relay
from tests.probe.setups_between import (
    cutting,
    larger_than,
    of,
    refusing,
)
from tests.probe.small_link import SERVER, SMALL_MTU, small_link
from tests.support import namespaces


def report_of(arrange: Arrange, resources: Resources) -> ProbeReport:
    with arrange(resources) as probe_input:
        return probed(probe_input)


def ids(report: ProbeReport) -> list[str]:
    return [result.diagnosis.id for result in report.results]


@pytest.mark.parametrize("program", COMMANDS)
def test_a_plain_reverse_proxy_causes_no_warning(
    program: str, resources: Resources, tmp_path: Path
) -> None:
    readback = resources.readback
    with reverse_proxy(program, readback.base_url, tmp_path) as url:
        report = probed(ProbeInput(url, readback.api_key))
    assert report.verdict == Verdict.OK, ids(report)
    assert report.requests <= MAX_REQUESTS


@pytest.mark.parametrize("status", [200, 401, 403, 429, 500])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_once_recognized_no_response_is_blamed_on_the_address(
    method: str, status: int, resources: Resources
) -> None:
    def with_key(request: Request) -> bool:
        return request.method == method and "Authorization" in request.headers

    report = report_of(through_relay(refusing(with_key, status)), resources)
    assert report.decisive
    diagnosis = report.decisive.diagnosis
    assert diagnosis.verdict == Verdict.FAIL
    assert report.fixer in (Fixer.NETWORK, Fixer.OPERATOR), diagnosis
    assert "cabinet" not in diagnosis.hint


def test_the_walk_goes_on_as_a_program_that_can_pass(resources: Resources) -> None:
    report = report_of(through_relay(refusing(of("readback|curl"))), resources)
    diagnosis = found(report, "between.program_blocked")
    assert diagnosis.facts["blocked"] == "this program and curl"
    assert diagnosis.facts["passed"] == "the openai package and a browser"
    assert "echo.same" in ids(report)
    assert report.verdict == Verdict.WARN


def test_a_block_of_one_path_is_found_when_the_path_is_used(
    resources: Resources,
) -> None:
    blocked = of("readback")

    goes_on_as_another = Event()

    def blocks(request: Request) -> bool:
        if request.method != "POST":
            return False
        if not blocked(request):
            goes_on_as_another.set()
        elif "Expect" in request.headers:
            goes_on_as_another.wait(2)  # A step beside this one finds the block.
        return blocked(request)

    report = report_of(through_relay(refusing(blocks, 503)), resources)
    assert report.id == "between.program_blocked", ids(report)
    assert "echo.same" in ids(report)


@pytest.mark.parametrize(
    "arrange",
    [
        through_relay(cutting(larger_than(4000))),
        through_relay(on_response=cutting(larger_than(4000))),
    ],
    ids=["requests", "responses"],
)
def test_the_size_that_passes_is_found(arrange: Arrange, resources: Resources) -> None:
    report = report_of(arrange, resources)
    facts = found(report, "between.size_limit").facts
    assert (facts["passes"], facts["fails"]) == (3000, 6000)
    assert facts["outcome"] == "a closed connection"


@pytest.mark.long  # the scenario of between.mtu runs each time
def test_packets_that_are_too_large_for_a_link_are_found(resources: Resources) -> None:
    if reason := namespaces.why_not():
        pytest.skip(reason)
    readback = resources.readback
    with small_link() as link:
        with link.on("server"):
            # It listens there, and reaches its upstream server from here.
            server = Relay(readback.base_url, SERVER, unchanged, unchanged)
        with running(server), link.on("client"):
            url = f"http://{SERVER}:{server.server_port}/v1"
            report = probed(ProbeInput(url, readback.api_key, timeout=3.0))
    assert report.id == "between.mtu", ids(report)
    facts = found(report, "between.mtu").facts
    assert facts["passes"] < SMALL_MTU <= facts["fails"] + 400


@pytest.mark.parametrize(
    "header",
    [
        {"Date": "yesterday"},
        {"Date": "Mon, 01 Jan 99999 00:00:00 GMT"},
        {"Date": "Mon, 01 Jan 2024 00:00:00 +99999999999"},
        {"Age": "\xb2"},
        {"Age": "9" * 5000},
        {"Content-Type": "application/json; charset*=x'y'%FF%FE"},
        {"Content-Type": ";;;=\xff"},
        {"Content-Encoding": "\x1b[31m\xff"},
        {"Set-Cookie": "__cf_bm\x1b[31m=\xff" + "x" * 3000},
        {"Retry-After": "\x1b[31m"},
        {"Via": "1.1 " + "x" * 3000},
    ],
    ids=lambda header: str(header)[:40],
)
def test_a_hostile_header_does_no_harm(
    header: dict[str, str], resources: Resources
) -> None:
    report = report_of(
        through_relay(
            on_response=lambda response: response.with_body(response.body, **header)
        ),
        resources,
    )
    assert "probe.unexpected" not in ids(report)
    assert "\x1b" not in text.as_short(report)
