"""The lines of the report of `readback doctor`."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class CheckStatus(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class CheckResult(NamedTuple):
    """One line: what was checked, what was found, what to do."""

    status: CheckStatus
    check: str
    found: str
    action: str = ""


CheckResults = Iterator[CheckResult]


def ok(check: str, found: str, action: str = "") -> CheckResult:
    return CheckResult(CheckStatus.OK, check, found, action)


def warn(check: str, found: str, action: str) -> CheckResult:
    return CheckResult(CheckStatus.WARN, check, found, action)


def fail(check: str, found: str, action: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, check, found, action)
