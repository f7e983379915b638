"""The last lines of a test run: what was skipped and why, what took long, what to do.

A plugin of pytest that tests/conftest.py registers. It only reads reports.
"""

import re
import shlex
from collections import Counter

import pytest

SLOWEST = 10
# Debian's package of each program that a test may say it needs.
PACKAGES = {
    "chromium": "chromium",
    "curl": "curl",
    "go": "golang-go",
    "gsettings": "gsettings-desktop-schemas libglib2.0-bin",
    "haproxy": "haproxy",
    "ip": "iproute2",
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


class Summary:
    """Counts the reports of all processes, and prints the lines at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._failed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.location[0]] += report.duration
        if report.failed:
            self._failed[report.nodeid] = None
        elif report.skipped and isinstance(report.longrepr, tuple):
            self._skipped[report.longrepr[2].removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        sections = [
            ("The slowest files, in seconds", self._slowest()),
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

    def _reasons(self) -> list[str]:
        return [f"{count:6}  {reason}" for reason, count in self._skipped.most_common()]

    def _commands(self) -> list[str]:
        python = f".venv/bin/python -m pytest --randomly-seed={self._seed()}"
        return [f"{python} {shlex.quote(nodeid)}" for nodeid in self._failed]


def missing_packages(reasons: Counter[str]) -> list[str]:
    """Return the packages of the programs that these reasons say are needed."""
    needed = [re.findall(r"the program (\S+?)[,;:]?(?:\s|$)", each) for each in reasons]
    programs = {name for names in needed for name in names}
    found = [PACKAGES[name].split() for name in programs if name in PACKAGES]
    return sorted({package for packages in found for package in packages})
