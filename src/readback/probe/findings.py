"""What a step can find: the words of every report, and the exit codes.

Nothing here knows how a finding comes about or how it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

Fact = str | int | float | None | list["Fact"] | dict[str, "Fact"]


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class Family(IntEnum):
    """Families of failure; the number is the exit code of `readback probe`."""

    WELL = 0
    # 1 to 3 mean the same for every command.
    ADDRESS = 10
    NETWORK = 11
    TLS = 12
    HTTP = 13
    KEY = 14
    ECHO = 15
    LIBRARY = 16

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def sentence(self) -> str:
        return {
            Family.WELL: "Everything works; there may be warnings.",
            Family.ADDRESS: "The address is not the one to use.",
            Family.NETWORK: "The service cannot be reached: name, network or proxy.",
            Family.TLS: "No encrypted connection that can be trusted.",
            Family.HTTP: "Something else answers, or nothing, or not by the contract.",
            Family.KEY: "There is no key, it is mistyped, or it is not accepted.",
            Family.ECHO: "The text does not come back as it was sent.",
            Family.LIBRARY: "The way works, and the client library does not.",
        }[self]


class Culprit(StrEnum):
    """Where to look first."""

    NOBODY = ""
    INPUT = "what was typed or pasted"
    MACHINE = "this machine"
    NETWORK = "the network in between"
    PROXY = "a proxy or gateway in between"
    SERVICE = "the service, or whoever runs it"
    LIBRARY = "the client library"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one step found."""

    id: str
    verdict: Verdict
    family: Family
    culprit: Culprit
    sentence: str
    hint: str = ""
    figure: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    details: tuple[str, ...] = ()
    """Further lines of figures."""


class Trouble(Exception):
    """A step cannot go on; whoever runs the steps makes a finding of it."""

    def __init__(self, id: str, **facts: Fact) -> None:
        super().__init__(id)
        self.id = id
        self.facts = facts
