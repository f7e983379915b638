"""A misfortune, what the probe must say about it, and whether a report says so.

The expected words are those with which a network engineer would explain the problem to
the user; they were not copied from the probe's output.
"""

import re
from dataclasses import dataclass, field
from enum import Enum

from readback.probe.common.results import Diagnosis, Fixer, Verdict
from readback.probe.output.text import as_long
from readback.probe.report import ProbeReport
from tests.probe.setups import Arrange

LONGEST_SECONDS = 66.0
"""A run may take 60 s, and a busy machine may need a little longer to end it."""
# Patterns of advice that usually blames the wrong cause; `Misfortune.blame` names those
# that are justified in its case.
BLAME = {
    "key": r"create a new (one|key)|new one in the cabinet|key may be revoked",
    "agent": r"because of the User-Agent",
    "store": r"certificates? store(?! of this machine is right)|SSL_CERT_FILE"
    r"|certificates of this machine",
    "limits": r"limits the number of connections",
    "mtu": r"size of a packet|MTU",
}


class Told(Enum):
    RIGHTLY = "rightly"
    PARTLY = "partly"
    WRONGLY = "wrongly"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Misfortune:
    name: str
    arrange: Arrange
    says: tuple[str, ...] = ()
    """Patterns that must all match the verdict: its id, sentence, advice or details."""
    by: str = "you network operator"
    """Who may be named as able to fix the problem; empty if nothing is wrong.

    If it contains `nobody`, the probe may also find no problem.
    """
    shows: tuple[str, ...] = ()
    """Patterns that must match somewhere in the report."""
    never: tuple[str, ...] = ()
    """Patterns that no failure or warning may match."""
    blame: str = ""
    """The keys of the patterns in BLAME that are justified here."""
    id: str = ""
    """The id that the verdict must have; if empty, any id is accepted."""
    kind: str = field(default="", compare=False)
    """The class of the misfortune; set by `kind_of`."""


@dataclass(frozen=True)
class Judgment:
    told: Told
    why: str = ""


def judge(misfortune: Misfortune, report: ProbeReport) -> Judgment:
    """Return whether a report says what it must, and if not, why."""
    if reason := _wrong(misfortune, report):
        return Judgment(Told.WRONGLY, reason)
    if reason := _incomplete(misfortune, report):
        return Judgment(Told.PARTLY, reason)
    return Judgment(Told.RIGHTLY)


def _wrong(misfortune: Misfortune, report: ProbeReport) -> str:
    ids = [result.diagnosis.id for result in report.results]
    if "probe.unexpected" in ids:
        return "the probe failed"
    if report.seconds > LONGEST_SECONDS:
        return f"took {report.seconds:.0f} s"
    if not misfortune.by:
        return f"finds fault: {report.id}" if report.decisive else ""
    if report.decisive is None:
        return "" if "nobody" in misfortune.by else "finds no fault"
    if misfortune.id not in ("", report.id):
        return f"is told as {report.id}"
    if pattern := _matched(misfortune, report.decisive.diagnosis):
        return f"the verdict says “{pattern}”"
    people = (report.fixer.in_json or "nobody").split("_or_")
    expected = set(misfortune.by.split())
    # For a shared fault, the advice says whether the operator or the user has to act.
    is_shared = report.fixer is Fixer.SHARED and {"you", "operator"} & expected
    if not (is_shared or set(people) <= expected):
        by = misfortune.by.replace(" ", " or ")
        return f"blames {' or '.join(people)}, not {by}"
    return ""


def _incomplete(misfortune: Misfortune, report: ProbeReport) -> str:
    verdict = _text(report.decisive.diagnosis) if report.decisive else ""
    for pattern in misfortune.says if report.decisive else ():
        if not re.search(pattern, verdict, re.IGNORECASE):
            return f"the verdict does not say “{pattern}”"
    text = as_long(report)
    for pattern in misfortune.shows:
        if not re.search(pattern, text, re.IGNORECASE):
            return f"the report does not show “{pattern}”"
    for result in report.results:
        # Findings about other programs are not advice about this misfortune.
        if result.step == "clients":
            continue
        if pattern := _matched(misfortune, result.diagnosis):
            return f"{result.diagnosis.id} says “{pattern}”"
    return ""


def _matched(misfortune: Misfortune, diagnosis: Diagnosis) -> str:
    """Return the text that a failure or warning must not contain but does, or ""."""
    if diagnosis.verdict not in (Verdict.FAIL, Verdict.WARN):
        return ""
    blame = [text for name, text in BLAME.items() if name not in misfortune.blame]
    for pattern in (*misfortune.never, *blame):
        if found := re.search(pattern, _text(diagnosis), re.IGNORECASE):
            return found[0]
    return ""


def _text(diagnosis: Diagnosis) -> str:
    lines = (diagnosis.id, diagnosis.sentence, diagnosis.hint, *diagnosis.details)
    return "\n".join(lines)
