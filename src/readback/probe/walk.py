"""The walk: the steps in their order, and which of them make others pointless."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from readback.probe import (
    access,
    address,
    cabinet,
    diagnoses,
    echo,
    latency,
    library,
    names,
    proxies,
    recognition,
    rules,
    secret,
    tcp,
    tls,
)
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.output import Display
from readback.probe.report import POINTLESS, Line, Report
from readback.probe.scene import Scene


class Step(NamedTuple):
    id: str
    title: str
    run: Callable[[Scene], Finding]
    needs: tuple[str, ...] = ()
    """The steps without whose success this one means nothing."""


def _address(scene: Scene) -> Finding:
    finding, scene.address = address.check(scene.given)
    return finding


def _key(scene: Scene) -> Finding:
    finding, scene.key = secret.check(scene.secret)
    return finding


def _proxies(scene: Scene) -> Finding:
    finding, scene.route = proxies.check(scene.address)
    return finding


def _dns(scene: Scene) -> Finding:
    finding, scene.addresses = names.check(scene.route, scene.timeout)
    return finding


def _tcp(scene: Scene) -> Finding:
    return tcp.check(scene.route, scene.addresses, scene.timeout)


def _tls(scene: Scene) -> Finding:
    stores = tls.stores()
    if not scene.address.is_encrypted:
        # The cabinet may be encrypted where the API is not.
        scene.trusted = stores[0]
        return found("tls.none")
    finding, scene.trusted = tls.check(scene, stores)
    return finding


def _echo(text: str) -> Callable[[Scene], Finding]:
    return lambda scene: echo.check(scene, text)


STEPS = (
    Step("address", "address", _address),
    Step("key", "key", _key),
    Step("proxies", "proxies", _proxies, ("address",)),
    Step("dns", "DNS", _dns, ("proxies",)),
    Step("tcp", "TCP", _tcp, ("dns",)),
    Step("tls", "TLS", _tls, ("tcp",)),
    Step("http", "HTTP", recognition.check, ("tls",)),
    Step("access", "key accepted", access.check, ("http", "key")),
    Step("models", "model list", rules.check_models, ("access",)),
    Step("echo.ascii", "echo: ASCII", _echo(echo.ASCII), ("access",)),
    Step("echo.cyrillic", "echo: Cyrillic", _echo(echo.CYRILLIC), ("access",)),
    Step("echo.marks", "echo: emoji, marks", _echo(echo.MARKS), ("access",)),
    Step("echo.controls", "echo: controls", _echo(echo.CONTROLS), ("access",)),
    Step("echo.full", "echo: 8192 bytes", _echo(echo.full()), ("access",)),
    Step("limit", "one byte too many", rules.check_limit, ("access",)),
    Step("parameter", "URL parameter", rules.check_parameter, ("access",)),
    Step("reuse", "connection reuse", rules.check_reuse, ("access",)),
    Step("cabinet", "cabinet", cabinet.check, ("http",)),
    Step("latency", "latency", latency.check, ("echo.ascii",)),
)
OPENAI = Step("openai", "openai", library.check, ("echo.marks",))


class Walk:
    """One walk; knows which steps have been made, and which are pointless now."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lines: list[Line] = []
        self._blocked: dict[str, str] = {}
        self._started = datetime.now(UTC)
        self._began = time.monotonic()

    def make(self, step: Step) -> Line:
        """Make one step; those before it have been made."""
        finding = self._scene.secret.scrub(self._find(step))
        line = Line(step.id, step.title, finding)
        self._lines.append(line)
        return line

    def report(self) -> Report:
        """Sum up, and let go of the connection."""
        self._scene.close()
        return Report(
            base_url=self._scene.shown_address,
            key=self._scene.shown_key,
            started=self._started,
            seconds=time.monotonic() - self._began,
            requests=self._scene.budget.spent,
            lines=self._lines,
        )

    def _find(self, step: Step) -> Finding:
        for need in step.needs:
            if reason := self._blocked.get(need):
                self._blocked[step.id] = reason
                return found(POINTLESS, reason=reason)
        # A finding that is returned lets later steps go on, even if it is a failure
        # that could be mended; trouble that is raised does not.
        try:
            return step.run(self._scene)
        except Trouble as trouble:
            self._blocked[step.id] = step.title
            return diagnoses.of(trouble)


def walk(scene: Scene, steps: tuple[Step, ...], display: Display) -> Report:
    """Make every step in front of a display."""
    made = Walk(scene)
    for step in steps:
        with display.at_work(step.title):
            line = made.make(step)
        display.show(line)
    report = made.report()
    display.end(report)
    return report
