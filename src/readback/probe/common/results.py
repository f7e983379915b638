"""What a step can report: verdicts, failure families with exit codes, diagnoses.

This module contains no checks and no output code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple, Union

from readback.probe.common import INTERRUPTED

Fact = Union[str, int, float, None]


class _Word(str, Enum):
    """An enumeration of words that are written as they are."""

    def __str__(self) -> str:
        return str(self.value)


class Service(_Word):
    """What responds at an address."""

    READBACK = "readback"
    ENDPOINT = "endpoint"
    """Another OpenAI-compatible API."""


class Verdict(_Word):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class FailureFamily(IntEnum):
    """Families of failure; the number is the exit code of `readback probe`.

    The name in lower case is part of the JSON report; docs/probe.md has the meanings.
    """

    NONE = 0
    # Codes 1 to 3 have the same meaning for every command.
    ADDRESS = 10
    NETWORK = 11
    TLS = 12
    HTTP = 13
    KEY = 14
    ECHO = 15
    LIBRARY = 16
    PROBE = 17
    INTERRUPTED = INTERRUPTED


class Fixer(_Word):
    """Who can fix a problem; the name in lower case is part of the JSON report.

    The catalogue names it in the same way, and has the words in both languages.
    """

    NOBODY = ""
    YOU = "you"
    NETWORK = "network"
    OPERATOR = "operator"
    AUTHORS = "authors"


@dataclass(frozen=True)
class Diagnosis:
    """The outcome of one step, ready to be shown."""

    id: str
    verdict: Verdict
    family: FailureFamily
    fixer: Fixer
    sentence: str
    hint: str = ""
    figure: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """The values behind the sentence; their names are part of the JSON report."""
    details: tuple[str, ...] = ()
    """Additional lines of figures."""


class StepResult(NamedTuple):
    step: str
    title: str
    diagnosis: Diagnosis


class ProbeError(Exception):
    """A step failed and the steps that need it cannot run.

    The runner turns it into the diagnosis with this id.
    """

    def __init__(self, id: str, **facts: Fact) -> None:
        super().__init__(id)
        self.id = id
        self.facts = facts

    def with_facts(self, facts: Mapping[str, Fact]) -> ProbeError:
        return ProbeError(self.id, **{**self.facts, **facts})
