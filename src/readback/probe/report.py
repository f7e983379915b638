"""A finished walk: its lines, and the one sentence that sums them up."""

import platform
import re
import ssl
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import httpx

from readback import __version__
from readback.probe.findings import Family, Finding, Verdict
from readback.probe.wording import milliseconds

_FIRST_SENTENCE = re.compile(r".*?\.(?= [A-Z]|$)")
POINTLESS = "skipped.failed"


class Line(NamedTuple):
    """One step and what it found."""

    step: str
    title: str
    finding: Finding


@dataclass(frozen=True)
class Report:
    base_url: str
    key: str
    """Its mask."""
    started: datetime
    seconds: float
    requests: int
    lines: list[Line]

    @property
    def decisive(self) -> Line | None:
        """The first failure, else the first warning: what to look at."""
        return next(iter(self._with(Verdict.FAIL) + self._with(Verdict.WARN)), None)

    @property
    def verdict(self) -> Verdict:
        return self.decisive.finding.verdict if self.decisive else Verdict.OK

    @property
    def id(self) -> str:
        return self.decisive.finding.id if self.decisive else "ok"

    @property
    def family(self) -> Family:
        return self.decisive.finding.family if self.decisive else Family.WELL

    @property
    def sentence(self) -> str:
        if self.decisive is None:
            return "Works: every text was read back unchanged."
        finding = self.decisive.finding
        others = len(self._with(finding.verdict)) - 1
        more = f" ({others} more below it.)" if others else ""
        works = "Works, with a warning" if self.family == Family.WELL else "Fails"
        gist = _FIRST_SENTENCE.match(finding.sentence)
        said = gist[0] if gist else finding.sentence
        return f"{works} at “{self.decisive.title}”: {said}{more}"

    @property
    def effort(self) -> str:
        """What it took: requests and time."""
        requests = "1 request" if self.requests == 1 else f"{self.requests} requests"
        return f"{requests} in {milliseconds(self.seconds)}"

    @property
    def tried(self) -> list[Line]:
        return [line for line in self.lines if line.finding.id != POINTLESS]

    @property
    def not_tried(self) -> list[str]:
        """The titles of the steps that an earlier failure made pointless."""
        return [line.title for line in self.lines if line.finding.id == POINTLESS]

    def _with(self, verdict: Verdict) -> list[Line]:
        return [line for line in self.lines if line.finding.verdict == verdict]


def surroundings() -> str:
    """Say what the probe ran on, for whoever reads the report elsewhere."""
    return (
        f"readback {__version__}, Python {platform.python_version()}, "
        f"{ssl.OPENSSL_VERSION.rpartition(' ')[0].rsplit(' ', 2)[0]}, "
        f"httpx {httpx.__version__}, {platform.system()} {platform.machine()}"
    )
