"""The last lines of a test run: what was skipped and why, what took long, what to do.

Two plugins of pytest that tests/conftest.py registers: one measures in each process,
one reads the reports of all and prints.
"""

import re
import shlex
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

SLOWEST = 10
_CPU = "cpu seconds"
# Debian's package of each program that a test may say it needs.
PACKAGES = {
    "chromium": "chromium",
    "curl": "curl",
    "go": "golang-go",
    "gsettings": "gsettings-desktop-schemas libglib2.0-bin",
    "haproxy": "haproxy",
    "ip": "iproute2",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "nginx": "nginx-light",
    "node": "nodejs",
    "npm": "npm",
    "openssl": "openssl",
    "pgbouncer": "pgbouncer",
    "promtool": "prometheus",
    "setpriv": "util-linux",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "unshare": "util-linux",
    "valgrind": "valgrind",
}


class CpuClock:
    """Measures the CPU time of each file: of this process and of all it has started.

    Only PostgreSQL is missing, which belongs to no other process.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._seconds()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None]:
        yield
        # Looking at all processes takes longer than most tests.
        if nextitem is None or nextitem.path != item.path:
            now = self._seconds()
            item.user_properties.append((_CPU, now - self._before))
            self._before = now

    def _seconds(self) -> float:
        total = 0.0
        for process in [self._process, *self._process.children(recursive=True)]:
            with suppress(psutil.Error):
                # Its own, and of those it has waited for.
                total += sum(process.cpu_times()[:4])
        return total


class Summary:
    """Counts the reports of all processes, and prints the lines at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: Counter[str] = Counter()
        self._cpu: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._failed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path = report.location[0]
        self._seconds[path] += report.duration
        for name, value in report.user_properties:
            if name == _CPU and report.when == "teardown":
                self._cpu[_folder(path)] += value
        if report.failed:
            self._failed[report.nodeid] = None
        elif report.skipped and isinstance(report.longrepr, tuple):
            self._skipped[report.longrepr[2].removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        sections = [
            ("The slowest files, in seconds", self._slowest()),
            ("Seconds and CPU seconds by folder", self._folders()),
            ("Skipped", self._reasons()),
            ("To repeat a failure", self._commands()),
        ]
        terminalreporter.section("summary")
        for title, lines in sections:
            if lines:
                terminalreporter.line(f"{title}:")
            for line in lines:
                terminalreporter.line(f"  {line}")
        if packages := missing_packages(self._skipped):
            names = " ".join(packages)
            terminalreporter.line(f"These packages would run more tests: {names}")
        terminalreporter.line(f"Seed: {self._seed()}")

    def _seed(self) -> object:
        return self._config.getoption("randomly_seed", "none")

    def _slowest(self) -> list[str]:
        longest = self._seconds.most_common(SLOWEST)
        return [f"{seconds:6.1f}  {path}" for path, seconds in longest]

    def _folders(self) -> list[str]:
        """Return the table for `--cpu`."""
        seconds: Counter[str] = Counter()
        for path, duration in self._seconds.items():
            seconds[_folder(path)] += duration
        rows = [*self._cpu.most_common(), ("all", self._cpu.total())]
        seconds["all"] = seconds.total()
        if not self._cpu:
            return []
        return [f"{seconds[name]:6.0f} {cpu:6.0f}  {name}" for name, cpu in rows]

    def _reasons(self) -> list[str]:
        return [f"{count:6}  {reason}" for reason, count in self._skipped.most_common()]

    def _commands(self) -> list[str]:
        python = f".venv/bin/python -m pytest --randomly-seed={self._seed()}"
        return [f"{python} {shlex.quote(nodeid)}" for nodeid in self._failed]


def _folder(path: str) -> str:
    return str(Path(*Path(path).parts[:2]))


def missing_packages(reasons: Counter[str]) -> list[str]:
    """Return the packages of the programs that these reasons say are needed."""
    needed = [re.findall(r"the program (\S+?)[,;:]?(?:\s|$)", each) for each in reasons]
    programs = {name for names in needed for name in names}
    found = [PACKAGES[name].split() for name in programs if name in PACKAGES]
    return sorted({package for packages in found for package in packages})
