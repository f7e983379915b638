"""Renders a report or a comparison: as JSON, as Markdown for a ticket, as plain text.

The verdict comes first. A comparison has both reports in full after its own verdict.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable

from readback import __version__
from readback.probe import language
from readback.probe.common.results import Diagnosis, Fixer, StepResult, Verdict
from readback.probe.comparison import Comparison
from readback.probe.language import say
from readback.probe.report import ProbeReport, environment_summary, openssl_version

# docs/probe-report.schema.json describes the report, docs/probe.md what may change in
# it without a new number.
SCHEMA = 1
_INDENT = " " * 25
_SHORT_LENGTH = 600


def as_json(report: ProbeReport) -> str:
    """Return the report as one line of JSON."""
    # ASCII survives every console and locale.
    return json.dumps(document(report))


def document(report: ProbeReport) -> dict[str, object]:
    """Return the report with the facts behind the sentences."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "id": report.id,
        "family": report.family.name.lower(),
        "exit_code": report.family,
        "sentence": report.sentence,
        "fixer": _fixer(report.fixer),
        "next_step": report.next_step,
        "message": report.message,
        "language": language.current(),
        "interrupted": report.interrupted.step if report.interrupted else None,
        "base_url": report.base_url,
        "key": report.key,
        "key_sent_to": report.key_sent_to,
        "service": report.service,
        "endpoint_name": report.endpoint_name,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "probe": {
            "version": __version__,
            "python": platform.python_version(),
            "openssl": openssl_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "findings": [finding(result) for result in report.results],
    }


def as_markdown(report: ProbeReport) -> str:
    rows = []
    for result, also in report.findings:
        one = result.diagnosis
        strong = "**" if one.verdict in (Verdict.FAIL, Verdict.WARN) else ""
        details = "; ".join(" ".join(line.split()) for line in one.details)
        text = escape(" ".join(filter(None, (one.sentence, details, seen_at(also)))))
        verdict = f"{strong}{one.verdict}{strong}"
        rows.append(f"| {verdict} | {result.title} | {say(one.figure)} | {text} |")
    if report.not_tried:
        skipped = say("skipped")
        rows.append(f"| skip | {skipped} | | {', '.join(report.not_tried)} |")
    # Several steps may have the same diagnosis; the hint of the verdict is on top.
    hints = dict.fromkeys(
        f"- `{one.id}`: {escape(one.hint)}"
        + (f" {look_first(one)}." if one.culprit else "")
        for one in (result.diagnosis for result in report.results)
        if one.hint not in ("", report.hint)
    )
    _, *advice = summary(report)
    if advice:
        advice = [f"{advice[0]} (`{report.id}`)", escape(advice[1])]
    head = f"| | {say('step')} | {say('figure')} | {say('result')} |"
    blocks = [
        f"### {say('Probe of {url}', url=escape(say(report.base_url)))}",
        f"**{escape(report.sentence)}**",
        "\\\n".join(advice),
        "\n".join([head, "| --- | --- | --: | --- |", *rows]),
        "\n".join(hints),
        f"{report.started:%Y-%m-%d %H:%M:%SZ}, {report.effort}. {report.key_use} "
        f"{environment_summary()}.",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def seen_at(titles: list[str]) -> str:
    """Return which other steps see the same, or "" if none does."""
    shown = ", ".join(titles)
    return say("Seen at these steps, too: {titles}.", titles=shown) if titles else ""


def look_first(one: Diagnosis) -> str:
    return say("Look first at {culprit}", culprit=say(str(one.culprit)))


def finding(result: StepResult) -> dict[str, object]:
    diagnosis = result.diagnosis
    return {
        "step": result.step,
        "title": result.title,
        "id": diagnosis.id,
        "verdict": diagnosis.verdict,
        "fixer": _fixer(diagnosis.culprit.fixer),
        "culprit": diagnosis.culprit,
        "sentence": diagnosis.sentence,
        "hint": diagnosis.hint,
        "figure": diagnosis.figure,
        "details": list(diagnosis.details),
        "facts": dict(diagnosis.facts),
    }


def _fixer(fixer: Fixer) -> str | None:
    return fixer.name.lower() if fixer else None


def escape(text: str) -> str:
    """Escape Markdown, so that untrusted text cannot become markup."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, f"\\{character}")
    return text


def as_text(report: ProbeReport) -> str:
    lines = [*summary(report), f"{report.effort}. {report.key_use}", ""]
    # Each hint is shown once; that of the verdict is above.
    hints = {report.hint, ""}
    for result, also in report.findings:
        one = result.diagnosis
        figure = f"{say(one.figure)}: " if one.figure else ""
        lines.append(f"{one.verdict:<5}{result.title:<20}{figure}{one.sentence}")
        more = filter(None, (*one.details, seen_at(also)))
        lines += [f"{_INDENT}{detail}" for detail in more]
        if one.hint:
            hint = "" if one.hint in hints else f" {one.hint}"
            lines.append(f"{_INDENT}[{one.id}]{hint}")
        hints.add(one.hint)
    if report.not_tried:
        lines.append(f"skip {say('skipped'):<20}{', '.join(report.not_tried)}")
    if report.message:
        lines += ["", message_title(report), *(f"  {one}" for one in report.message)]
    return "\n".join(lines)


def message_title(report: ProbeReport) -> str:
    return say("A text to send to {fixer}:", fixer=say(str(report.fixer)))


def as_short(report: ProbeReport) -> str:
    """Return a summary for a chat message, without anything secret."""
    versions = f"{report.id}; {cut(say(report.base_url), 80)}; {environment_summary()}"
    # Similar steps are one.
    groups: dict[str, bool] = {}
    for result in report.results:
        name, verdict = result.title.partition(":")[0], result.diagnosis.verdict
        groups[name] = groups.get(name, True) and verdict == Verdict.OK
    names = ", ".join(name for name, works in groups.items() if works)
    worked = say("Worked: {names}", names=cut(names or say("nothing"), 120))
    sentence = cut(report.sentence, 170)
    lines = [sentence, *summary(report)[1:], worked, cut(versions, 160)]
    excess = len("\n".join(lines)) - _SHORT_LENGTH
    if excess > 0:  # Only the next step is long.
        lines[-3] = cut(lines[-3], len(lines[-3]) - excess)
    return "\n".join(lines)


def summary(report: ProbeReport) -> list[str]:
    """Return what is wrong, who can fix it and the next step."""
    if not report.decisive:
        return [report.sentence]
    return [
        report.sentence,
        say("Who can fix it: {fixer}", fixer=say(str(report.fixer))),
        say("Next step: {step}", step=report.next_step),
    ]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def comparison_as_json(comparison: Comparison) -> str:
    """Return one line of JSON: the comparison as a finding, and both reports."""
    result = StepResult("compare", say("comparison"), comparison.diagnosis)
    both = {"reports": [document(run.report) for run in comparison.runs]}
    return json.dumps({"schema": SCHEMA, "comparison": finding(result), **both})


def comparison_as_markdown(comparison: Comparison) -> str:
    diagnosis = comparison.diagnosis
    blocks = [
        f"### {say('Comparison of two addresses')}",
        f"**{escape(diagnosis.sentence)}** (`{diagnosis.id}`)",
        say("Next step: {step}", step=escape(diagnosis.hint)) if diagnosis.hint else "",
        "\n".join(f"- {escape(line)}" for line in diagnosis.details),
        *(as_markdown(run.report) for run in comparison.runs),
    ]
    return "\n\n".join(filter(None, blocks))


def comparison_as_short(comparison: Comparison) -> str:
    diagnosis = comparison.diagnosis
    runs = (f"{cut(one.url, 80)}: {one.report.sentence}" for one in comparison.runs)
    lines = [f"{cut(diagnosis.sentence, 200)} ({diagnosis.id})", *runs]
    return "\n".join(cut(line, 240) if n else line for n, line in enumerate(lines))


# By the names of their options: a report, and a comparison of two.
FORMS = {
    "json": (as_json, comparison_as_json),
    "markdown": (as_markdown, comparison_as_markdown),
    "short": (as_short, comparison_as_short),
}


def show_comparison(
    comparison: Comparison, show_report: Callable[[ProbeReport], None]
) -> None:
    """Print the verdict, then each report after its address."""
    diagnosis = comparison.diagnosis
    hint = [say("Next step: {step}", step=diagnosis.hint)] if diagnosis.hint else []
    lines = [diagnosis.sentence, *hint, *diagnosis.details, f"[{diagnosis.id}]"]
    print("\n".join(lines), flush=True)
    for run in comparison.runs:
        print(f"\n{run.url}", flush=True)
        show_report(run.report)
