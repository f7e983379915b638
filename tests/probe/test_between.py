"""What is in between: what the scenarios do not show, and no false alarm."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event

import httpx
import pytest
import requests

from readback.contract import MODEL
from readback.probe.common.results import Culprit, Verdict
from readback.probe.output import formats
from readback.probe.report import ProbeReport
from readback.probe.transport.exchanges import MAX_REQUESTS
from tests.probe import corruptions
from tests.probe.probing import found, probed
from tests.probe.relay import (
    Relay,
    Request,
    Response,
    ResponseFilter,
    running,
    unchanged,
)
from tests.probe.reverse_proxies import COMMANDS, reverse_proxy
from tests.probe.setups import Arrange, ProbeInput, Resources, responding, through_relay
from tests.probe.setups_between import (
    behind_forgetful_gateway,
    change_authorization,
    cutting,
    dated,
    larger_than,
    of,
    refusing,
    with_clocks,
    with_content_type,
    with_field,
    with_headers,
)
from tests.probe.small_link import SERVER, SMALL_MTU, small_link
from tests.support import namespaces

HOUR = 3600


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
        report = probed(ProbeInput(url, readback.api_key, idle=0.3))
    assert report.verdict == Verdict.OK, ids(report)
    assert "between.idle_ok" in ids(report)
    assert report.requests <= MAX_REQUESTS


def test_a_service_that_closes_idle_connections_is_not_blamed(
    resources: Resources,
) -> None:
    report = report_of(behind_forgetful_gateway(None), resources)
    assert report.verdict == Verdict.OK, ids(report)
    assert "between.idle_closed" in ids(report)


@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_refusal_of_something_else_is_not_blamed_on_the_address(
    status: int, resources: Resources
) -> None:
    page = corruptions.PAGE % b"No"
    report = report_of(responding(status, page, Content_Type="text/html"), resources)
    assert report.decisive
    assert report.decisive.diagnosis.culprit == Culprit.PROXY
    assert "cabinet" not in report.decisive.diagnosis.hint


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
    assert diagnosis.culprit in (Culprit.PROXY, Culprit.SERVICE), diagnosis
    assert "cabinet" not in diagnosis.hint


def test_the_walk_goes_on_as_a_program_that_can_pass(resources: Resources) -> None:
    report = report_of(through_relay(refusing(of("readback|curl"))), resources)
    diagnosis = found(report, "between.probe_blocked")
    assert diagnosis.facts["blocked"] == "this program and curl"
    assert diagnosis.facts["passed"] == "the openai package and a browser"
    assert "latency.ok" in ids(report)
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
    assert report.id == "between.probe_blocked", ids(report)
    assert "latency.ok" in ids(report)


def test_a_block_of_every_program_is_not_put_down_to_the_user_agent(
    resources: Resources,
) -> None:
    report = report_of(responding(403, b"no"), resources)
    assert "makes no difference" in found(report, "between.blocked").sentence


@pytest.mark.parametrize(
    ("what", "arrange"),
    [
        ("request bodies", through_relay(cutting(larger_than(4000)))),
        ("response bodies", through_relay(on_response=cutting(larger_than(4000)))),
    ],
    ids=["requests", "responses"],
)
def test_the_size_that_passes_is_found(
    what: str, arrange: Arrange, resources: Resources
) -> None:
    report = report_of(arrange, resources)
    facts = found(report, "between.size_limit").facts
    assert facts["what"] == what
    assert facts["fails"] - facts["passes"] <= 32
    assert 4000 - 500 < facts["passes"] < facts["fails"] <= 4000
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
    # A header of IP and TCP has 40 to 60 bytes.
    total = found(report, "between.mtu").facts["total"]
    assert SMALL_MTU - 120 < total <= SMALL_MTU - 40


def test_the_date_of_a_cached_response_does_not_count(resources: Resources) -> None:
    def from_cache(response: Response) -> Response:
        return with_headers(Age=str(HOUR))(dated(-HOUR)(response))

    report = report_of(through_relay(on_response=from_cache), resources)
    assert report.id == "between.cached"
    assert not [id for id in ids(report) if id.startswith("clock.")]


@pytest.mark.parametrize("offset", [-30, 30])
def test_a_small_difference_between_clocks_is_accepted(
    offset: int, resources: Resources
) -> None:
    report = report_of(through_relay(on_response=dated(offset)), resources)
    assert report.verdict == Verdict.OK, ids(report)


def test_clocks_of_one_machine_do_not_tell_which_one_is_wrong(
    resources: Resources,
) -> None:
    report = report_of(with_clocks(HOUR, HOUR, "127.0.0.1"), resources)
    assert report.id == "clock.differs", ids(report)


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
    assert "\x1b" not in formats.as_markdown(report)


@pytest.mark.parametrize("place", [b'{"error":{', b'"data":[{', b'"usage":{'])
def test_an_added_field_is_found_wherever_it_is(
    place: bytes, resources: Resources
) -> None:
    def change(response: Response) -> Response:
        added = response.body.replace(place, place + b'"gateway":1,')
        return response.with_body(added)

    report = report_of(through_relay(on_response=change), resources)
    assert report.id == "between.fields_added", ids(report)
    names = found(report, "between.fields_added").facts["names"]
    assert str(names).endswith(".gateway")


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value[:-1],
        lambda value: value.replace("Bearer ", "Basic "),
        lambda value: f"{value}, {value}",
        lambda value: f'Bearer "{value.removeprefix("Bearer ")}"',
    ],
    ids=["cut", "Basic", "doubled", "quoted"],
)
def test_a_key_that_is_changed_in_any_way_is_not_blamed_on_the_user(
    change: Callable[[str], str], resources: Resources
) -> None:
    report = report_of(through_relay(change_authorization(change)), resources)
    assert report.id == "key.changed", ids(report)


def test_a_response_without_content_type_is_reported(resources: Resources) -> None:
    def change(response: Response) -> Response:
        kept = dict(response.headers)
        del kept["Content-Type"]
        return Response(response.status, response.reason, kept, response.body)

    report = report_of(through_relay(on_response=change), resources)
    assert found(report, "between.content_type").facts["type"] == "not labelled"


# What the hints say about clients.


def ask_openai(url: str, key: str) -> str:
    import openai

    with openai.OpenAI(api_key=key, base_url=url, max_retries=0) as client:
        message = {"role": "user", "content": "ё"}
        done = client.chat.completions.create(model=MODEL, messages=[message])
    return done.choices[0].message.content


def ask_with(post: Callable[..., httpx.Response | requests.Response]):
    def ask(url: str, key: str) -> str:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "ё"}]}
        headers = {"Authorization": f"Bearer {key}"}
        done = post(f"{url}/chat/completions", json=body, headers=headers, timeout=60)
        return done.json()["choices"][0]["message"]["content"]

    return ask


def with_mark(response: Response) -> Response:
    return response.with_body(b"\xef\xbb\xbf" + response.body)


@pytest.mark.parametrize(
    ("change", "reads"),
    [
        (with_mark, {"openai", "httpx"}),
        (with_content_type("application/json; charset=cp1251"), {"openai", "httpx"}),
        (with_content_type("text/plain"), {"openai", "httpx"}),
        (with_field, {"openai", "httpx", "requests"}),
    ],
    ids=["byte order mark", "charset", "type", "field"],
)
def test_clients_read_changed_responses_as_the_hints_say(
    change: ResponseFilter, reads: set[str], resources: Resources
) -> None:
    ask = {
        "openai": ask_openai,
        "httpx": ask_with(httpx.post),
        "requests": ask_with(requests.post),
    }
    with through_relay(on_response=change)(resources) as given:
        right = set()
        for name, call in ask.items():
            with suppress(json.JSONDecodeError):
                right |= {name} if call(given.base_url, given.key) == "ё" else set()
    assert right == reads
