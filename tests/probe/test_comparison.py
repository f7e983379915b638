"""`--compare`: both addresses are walked, each with its own key, and told apart."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from readback.probe.common.results import Diagnosis, FailureFamily, StepResult
from readback.probe.comparison import Comparison, FinishedRun
from readback.probe.diagnoses import diagnose
from readback.probe.entered.key import Secret
from readback.probe.runner import run_probe
from readback.probe.steps import STEPS
from readback.probe.transport.context import ProbeContext
from tests.probe import broken_servers
from tests.probe.displays import SilentDisplay
from tests.probe.forms import REPORT_SCHEMA
from tests.probe.provider import KEY, MODEL, Answer, provider
from tests.probe.relay import relay
from tests.probe.test_command import run
from tests.support.server import Server

COMMAND = (sys.executable, "-m", "readback", "probe")


def walked(url: str, key: str, chat: str | None = None) -> FinishedRun:
    context = ProbeContext(url, Secret(key), chat_model=chat)
    return FinishedRun(context, run_probe(context, STEPS, SilentDisplay()))


def compared(first: FinishedRun, second: FinishedRun) -> Diagnosis:
    return Comparison((first, second)).diagnosis


@pytest.fixture(scope="module")
def there(readback: Server) -> FinishedRun:
    """A Readback that works."""
    return walked(readback.base_url, readback.api_key)


def test_each_address_gets_only_its_own_key(readback: Server) -> None:
    seen = []

    def note(request):
        seen.append(request.headers.get("Authorization"))
        return request

    with provider() as server, relay(readback.base_url, note) as second:
        readback_url = f"http://127.0.0.1:{second.server_port}/v1"
        keys = {"PROVIDER_KEY": KEY, "READBACK_API_KEY": readback.api_key}
        done = run(
            *(server.base_url, "--key-env", "PROVIDER_KEY"),
            *("--compare", readback_url, "--json"),
            more=keys,
        )
    report = json.loads(done.stdout)
    REPORT_SCHEMA.validate(report)
    assert report["comparison"]["id"] == "compare.same", done.stdout
    first, second = report["reports"]
    assert (first["service"], second["service"]) == ("endpoint", "readback")
    assert done.returncode == first["exit_code"] == 0
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    assert set(filter(None, seen)) == {f"Bearer {readback.api_key}"}
    assert first["key_sent_to"] == server.base_url.removesuffix("/v1")
    assert second["key_sent_to"] == readback_url.removesuffix("/v1")
    assert KEY not in done.stdout and readback.api_key not in done.stdout


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--short"]])
def test_every_format_has_the_verdict_first_and_both_walks(form: list[str]) -> None:
    with provider() as server, provider() as other:
        # Without --key-env, the variable is for the second address alone.
        done = run(server.base_url, "--compare", other.base_url, *form, key=KEY)
    assert server.authorizations == [] and other.authorizations
    assert done.returncode == FailureFamily.KEY  # The first key is missing.
    verdict, _, rest = done.stdout.partition("compare.parts_at_service")
    assert "The two differ at “key accepted”" in verdict
    assert server.base_url in rest and other.base_url in rest
    assert "requires a key" in rest and "Works as far as it was tested" in rest


def test_the_first_step_that_only_one_passes_is_named(there: FinishedRun) -> None:
    nowhere = walked(f"http://127.0.0.1:{broken_servers.closed_port()}/v1", KEY)
    for first, second in ((nowhere, there), (there, nowhere)):
        diagnosis = compared(first, second)
        assert diagnosis.id == "compare.parts_at"
        assert diagnosis.facts["step"] == "TCP"
        assert diagnosis.facts["fails"] == nowhere.url
        assert "proxy: the same, none" in diagnosis.details


def test_a_failure_that_only_one_can_have_comes_after_the_common_way(
    there: FinishedRun,
) -> None:
    with provider(completed=Answer(200, b"{}")) as server:
        first = walked(server.base_url, KEY, chat=MODEL)
    diagnosis = compared(first, there)
    assert diagnosis.id == "compare.parts_after"
    assert diagnosis.facts["step"] == "completion"


def test_programs_that_differ_fail_after_everything_else(there: FinishedRun) -> None:
    differs = StepResult("run", "programs run", diagnose("run.differs", outcomes=""))
    results = [*there.report.results, differs]
    differing = replace(there, report=replace(there.report, results=results))
    nowhere = walked(f"http://127.0.0.1:{broken_servers.closed_port()}/v1", KEY)
    assert compared(differing, nowhere).facts["step"] == "TCP"
    assert compared(differing, there).facts["step"] == "programs run"


def test_the_same_failure_twice_is_something_that_both_share(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = f"http://127.0.0.1:{broken_servers.closed_port()}"
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    walks = [walked(url, KEY) for url in ("http://a.test/v1", readback.base_url)]
    diagnosis = compared(*walks)
    assert diagnosis.id == "compare.same_failure"
    assert diagnosis.facts["common"]["proxy"].startswith("the same, 127.0.0.1:")


def test_another_failure_at_the_same_step_is_another_problem() -> None:
    with (
        provider(without_key=Answer(404, b"{}")) as api,
        provider(
            without_key=Answer(404, b"gone", {"Content-Type": "text/plain"})
        ) as other,
    ):
        diagnosis = compared(walked(api.base_url, KEY), walked(other.base_url, KEY))
    assert diagnosis.id == "compare.other_failure"


def test_another_proxy_is_a_difference(
    there: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{broken_servers.closed_port()}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    diagnosis = compared(walked("http://a.test/v1", KEY), there)
    assert diagnosis.id == "compare.parts_at"
    assert diagnosis.facts["common"]["proxy"].endswith(" and none")


def test_ctrl_c_in_the_second_walk_keeps_the_first() -> None:
    connected = threading.Event()

    def stay_silent(client) -> None:
        connected.set()

    with provider() as server, broken_servers.socket_server(stay_silent) as port:
        process = subprocess.Popen(
            [*COMMAND, server.base_url, "--key-env", "READBACK_API_KEY", "--json"]
            + ["--compare", f"http://127.0.0.1:{port}/v1", "--timeout", "30"],
            env={**os.environ, "READBACK_API_KEY": KEY},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert connected.wait(60)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    report = json.loads(output)
    assert report["comparison"]["id"] == "compare.unfinished"
    assert report["reports"][0]["verdict"] == "ok"
    assert process.returncode == FailureFamily.INTERRUPTED


def test_a_comparison_is_not_repeated() -> None:
    command = [*COMMAND, "http://x/v1", "--compare", "http://y/v1", "--watch", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "omit --watch" in done.stderr
