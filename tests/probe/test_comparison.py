"""`--compare`: both addresses are walked, each with its own key, and told apart."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from readback.probe.comparison import Comparison, Walk
from readback.probe.context import ProbeContext
from readback.probe.entered.secret import Secret
from readback.probe.results import Diagnosis, FailureFamily
from readback.probe.runner import STEPS, run_probe
from tests.probe import broken_servers
from tests.probe.displays import SilentDisplay
from tests.probe.forms import REPORT_SCHEMA
from tests.probe.provider import KEY, MODEL, Answer, provider
from tests.probe.relay import relay
from tests.support.server import Server

COMMAND = (sys.executable, "-m", "readback", "probe")


def walked(url: str, key: str, chat: str | None = None) -> Walk:
    context = ProbeContext(url, Secret(key), timeout=1.0, chat_model=chat)
    return Walk(context, run_probe(context, STEPS, SilentDisplay()))


def compared(first: Walk, second: Walk) -> Diagnosis:
    return Comparison((first, second)).diagnosis


def environment(readback: Server) -> dict[str, str]:
    keys = {"PROVIDER_KEY": KEY, "READBACK_API_KEY": readback.api_key}
    return {**os.environ, **keys}


@contextmanager
def both(readback: Server, **behavior: object) -> Iterator[tuple]:
    """Yield a provider, and a relay that notes the keys that reach Readback."""
    seen = []

    def note(request):
        seen.append(request.headers.get("Authorization"))
        return request

    with provider(**behavior) as server, relay(readback.base_url, note) as second:
        yield server, f"http://127.0.0.1:{second.server_port}/v1", seen


def test_each_address_gets_only_its_own_key(readback: Server) -> None:
    with both(readback) as (server, readback_url, seen):
        done = subprocess.run(
            [*COMMAND, server.base_url, "--key-env", "PROVIDER_KEY"]
            + ["--compare", readback_url, "--json"],
            env=environment(readback),
            capture_output=True,
            text=True,
        )
    report = json.loads(done.stdout)
    REPORT_SCHEMA.validate(report)
    assert report["comparison"]["id"] == "compare.same"
    first, second = report["reports"]
    assert (first["service"], second["service"]) == ("endpoint", "readback")
    assert done.returncode == first["exit_code"] == 0
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    assert set(filter(None, seen)) == {f"Bearer {readback.api_key}"}
    assert first["key_sent_to"] == server.base_url.removesuffix("/v1")
    assert second["key_sent_to"] == readback_url.removesuffix("/v1")
    assert KEY not in done.stdout and readback.api_key not in done.stdout


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--short"]])
def test_every_format_has_the_verdict_first_and_both_walks(
    form: list[str], readback: Server
) -> None:
    with both(readback) as (server, readback_url, seen):
        # Without --key-env, the variable is for the Readback alone.
        done = subprocess.run(
            [*COMMAND, server.base_url, "--compare", readback_url, *form],
            env=environment(readback),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    assert server.authorizations == [] and seen[-1]
    assert done.returncode == 14  # The provider's key is missing.
    verdict, _, rest = done.stdout.partition("compare.parts_at_service")
    assert "The ways part at “key accepted”" in verdict
    assert server.base_url in rest and readback_url in rest
    assert "requires a key" in rest and "every text was returned unchanged" in rest


def test_the_first_step_that_only_one_passes_is_named(readback: Server) -> None:
    nowhere = walked(f"http://127.0.0.1:{broken_servers.closed_port()}/v1", KEY)
    there = walked(readback.base_url, readback.api_key)
    for first, second in ((nowhere, there), (there, nowhere)):
        diagnosis = compared(first, second)
        assert diagnosis.id == "compare.parts_at"
        assert diagnosis.facts["step"] == "TCP"
        assert diagnosis.facts["fails"] == nowhere.url
        assert "proxy: the same, none" in diagnosis.details


def test_a_failure_that_only_one_can_have_comes_after_the_common_way(
    readback: Server,
) -> None:
    with provider(completed=Answer(200, b"{}")) as server:
        first = walked(server.base_url, KEY, chat=MODEL)
    diagnosis = compared(first, walked(readback.base_url, readback.api_key))
    assert diagnosis.id == "compare.parts_after"
    assert diagnosis.facts["step"] == "completion"


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
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{broken_servers.closed_port()}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    diagnosis = compared(
        walked("http://a.test/v1", KEY), walked(readback.base_url, readback.api_key)
    )
    assert diagnosis.id == "compare.parts_at"
    assert diagnosis.facts["common"]["proxy"].endswith(" and none")


def test_ctrl_c_in_the_second_walk_keeps_the_first(readback: Server) -> None:
    connected = threading.Event()

    def stay_silent(client) -> None:
        connected.set()

    with broken_servers.socket_server(stay_silent) as port:
        process = subprocess.Popen(
            [*COMMAND, readback.base_url, "--key-env", "READBACK_API_KEY", "--json"]
            + ["--compare", f"http://127.0.0.1:{port}/v1", "--timeout", "30"],
            env=environment(readback),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert connected.wait(30)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    report = json.loads(output)
    assert report["comparison"]["id"] == "compare.unfinished"
    assert report["reports"][0]["verdict"] == "ok"
    assert process.returncode == FailureFamily.INTERRUPTED


def test_a_comparison_is_not_repeated() -> None:
    command = [*COMMAND, "http://x/v1", "--compare", "http://y/v1", "--watch", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "omit --watch" in done.stderr
