"""Every answer takes seconds, and the run still ends within a minute.

Time is simulated. While an answer is awaited, the clock advances by a tenth of a second
whenever the run updates its display, so the speed of the machine does not matter.
"""

import threading
import time

import pytest

from readback.probe import runner
from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import Secret
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.context import ProbeContext
from tests.probe.gateway import Call, Reply, answering, gateway, pass_on
from tests.probe.provider import KEY, MODEL, provider
from tests.support.server import Server

TICK_SECONDS = 0.1
TIME_LIMIT = 55.0
"""The rest of the minute is for startup and for writing the report."""


class Clock:
    def __init__(self) -> None:
        self._now = 1000.0
        self._late_answers = 0
        self._moved = threading.Condition()

    def now(self) -> float:
        return self._now

    def show(self, step: str, done: int) -> None:
        with self._moved:
            if self._late_answers:
                self._now += TICK_SECONDS
            self._moved.notify_all()

    def clear(self) -> None:
        pass

    def wait(self, seconds: float) -> None:
        with self._moved:
            end = self._now + seconds
            self._late_answers += 1
            self._moved.wait_for(lambda: self._now >= end, timeout=60)
            self._late_answers -= 1


def ran(monkeypatch, upstream: str, key: str, *, seconds: float, **more):
    """Run the probe against a service whose answers take this long."""
    clock, then = Clock(), more.pop("then", pass_on)
    monkeypatch.setattr(time, "monotonic", clock.now)
    monkeypatch.setattr(runner, "_TICK_SECONDS", 0.003)

    def answer_late(call: Call) -> Reply:
        clock.wait(seconds)
        return then(call)

    with gateway(upstream, answer_late) as server:
        context = ProbeContext(server.base_url, Secret(key), **more)
        report = ProbeRun(context, clock).run(STEPS)
    assert report.seconds < TIME_LIMIT + 2 * TICK_SECONDS
    return report


def test_a_service_that_takes_six_seconds_for_each_answer_is_tested_to_the_end(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ran(monkeypatch, readback.base_url, readback.api_key, seconds=6.0)
    assert report.id == "ok"
    assert report.not_tried == ["TLS"]


def test_an_api_that_takes_six_seconds_for_each_answer_is_tested_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with provider() as api:
        report = ran(monkeypatch, api.base_url, KEY, seconds=6.0, chat_model=MODEL)
    assert "stream" in [result.step for result in report.tried]
    assert report.not_tried[-1] == "TLS"


def test_a_run_that_would_take_longer_says_what_it_could_not_test(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ran(monkeypatch, readback.base_url, readback.api_key, seconds=9.5)
    assert report.id == "probe.time_limit"
    assert "largest echo" in report.not_tried
    assert report.family == FailureFamily.NONE


def test_a_service_that_refuses_everything_slowly_is_not_a_success(
    readback: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The failure is seen once, and no time is left to confirm it.
    url, refuse = readback.base_url, answering(403)
    report = ran(monkeypatch, url, "", seconds=6.0, then=refuse)
    assert report.id == "between.forbidden"
    assert report.family == FailureFamily.HTTP
