"""What a step can report: diagnoses, with verdicts, failure families and faults.

This module contains no checks and no output code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import NamedTuple, Union

Fact = Union[str, int, float, None]


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class Service(_Word):
    READBACK = "readback"
    ENDPOINT = "endpoint"


class Verdict(_Word):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class FailureFamily(IntEnum):
    """The kind of failure; the number is the exit code (see docs/probe.md)."""

    NONE = 0
    # Codes 1 to 3 are not families: they mean the same as for every other command.
    ADDRESS = 10
    NETWORK = 11
    TLS = 12
    HTTP = 13
    KEY = 14
    ECHO = 15
    PROBE = 17
    UNKNOWN = 18
    # As shells report it for a program that was stopped with Ctrl-C.
    INTERRUPTED = 130


class Fault(_Word):
    """The kind of fault behind a finding; `responsible` derives who has to act."""

    NONE = "none"
    SETTING = "setting"
    """The user's own setting, such as the address or the key."""
    NETWORK = "network"
    """A problem below TLS: with names, routes, packets or firewalls."""
    PROXY = "proxy"
    BEYOND = "beyond"
    """The proxy or what is behind it, or the setting that names the proxy."""
    CONNECTION = "connection"
    """A connection that breaks, on the path or at its end."""
    CERTIFICATE = "certificate"
    SHARED = "shared"
    """A setting of the user or of the service; the advice tells which."""
    FILTER = "filter"
    """A page that may come from a filter, a proxy or a network's login portal."""
    PATH = "path"
    """Something on the path reads, changes or answers the requests."""
    SERVICE = "service"
    PROBE = "probe"


class Fixer(_Word):
    """Who can fix a problem; the catalogue has the words in both languages."""

    NOBODY = ""
    YOU = "you"
    NETWORK = "network"
    PROXY = "whoever_runs_the_proxy"
    INTERCEPTION = "whoever_decrypts"
    OPERATOR = "operator"
    SHARED = "operator_or_you"
    EITHER = "network_or_operator"
    ANYONE = "you_proxy_or_operator"
    AUTHORS = "authors"

    @property
    def in_json(self) -> str | None:
        """Return the word for JSON, which counts proxies as part of the network."""
        is_network = self in (Fixer.PROXY, Fixer.INTERCEPTION)
        return str(Fixer.NETWORK if is_network else self.other) or None

    @property
    def other(self) -> Fixer:
        """Who it may be besides the user, who can send them a text."""
        others = {Fixer.SHARED: Fixer.OPERATOR, Fixer.ANYONE: Fixer.EITHER}
        return others.get(self, self)


@dataclass(frozen=True)
class Diagnosis:
    id: str
    verdict: Verdict
    family: FailureFamily
    fault: Fault
    sentence: str
    hint: str = ""
    figure: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """The values for the sentence; their names are part of the JSON report."""
    details: tuple[str, ...] = ()
    fixer: Fixer = Fixer.NOBODY
    """Who can fix it; derived at the end of the run."""


def as_warning(diagnosis: Diagnosis) -> Diagnosis:
    return replace(diagnosis, verdict=Verdict.WARN, family=FailureFamily.NONE)


class StepResult(NamedTuple):
    step: str
    title: str
    diagnosis: Diagnosis


class ProbeError(Exception):
    """A step failed; the runner turns this into the diagnosis with this id."""

    def __init__(self, finding: str, **facts: Fact) -> None:
        super().__init__(finding)
        self.id = finding
        self.facts = facts
        self.is_final = False
        """Whether the step must not be repeated."""

    def with_facts(self, facts: Mapping[str, Fact]) -> ProbeError:
        return ProbeError(self.id, **{**self.facts, **facts})
