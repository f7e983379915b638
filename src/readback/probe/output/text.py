"""Formats the report: as short or long text, as an HTML page, or as JSON.

The short form has at most twenty lines of eighty columns. The long form has every step
with its facts. `--report` writes the long form as an HTML page, whose content security
policy forbids loading or running anything.
"""

from __future__ import annotations

import json
import platform
import shutil
import textwrap
from collections.abc import Iterator
from html import escape

from readback import __version__
from readback.probe.common.catalogue import current, say
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import StepResult, Verdict
from readback.probe.entered import OPENAI_DEFAULT
from readback.probe.report import (
    ProbeReport,
    environment_summary,
    evidence,
    openssl_version,
)

WIDTH = 80
_NARROWEST = 40
MAX_LINES = 20
_MARKS = {Verdict.OK: "✓", Verdict.WARN: "!", Verdict.FAIL: "✗", Verdict.SKIP: "–"}
_COLORS = {Verdict.OK: "32", Verdict.WARN: "33", Verdict.FAIL: "31", Verdict.SKIP: "90"}
_INDENT = "  "
_MAX_OTHERS = 3
_MAX_STEP_LINES = 7
_TITLE_WIDTH = 20
_POLICY = "default-src 'none'"


def as_short(report: ProbeReport, *, is_colored: bool = False) -> str:
    mark = f"{_MARKS[report.verdict]} "
    lines = _wrapped(report.sentence, mark, 4)
    lines[0] = _colored(lines[0], report.verdict, is_colored)
    effort = _wrapped(" ".join(_effort(report)), _INDENT, 2)
    if effort[-1].endswith("…"):  # Always show who received the key.
        sent, key_use = _effort(report)
        effort = _wrapped(sent, _INDENT, 1) + _wrapped(key_use, _INDENT, 2)
    if report.decisive:
        lines += [_INDENT + _who(report)] if report.fixer else []
        step = say("next_step", step=report.next_step)
        lines += _wrapped(step, _INDENT, _MAX_STEP_LINES + 2 - len(effort))
    others = report.others
    for result in others[:_MAX_OTHERS]:
        text = f"{result.title}: {result.diagnosis.sentence}"
        lines += _wrapped(text, f"{_MARKS[result.diagnosis.verdict]} ", 1)
    if len(others) > _MAX_OTHERS:
        count = len(others) - _MAX_OTHERS
        lines.append(_INDENT + say("count_more", count=count))
    for note in report.notes:
        lines += _wrapped(note, _INDENT, 3)
    # The first sentence of a successful report already says that it works.
    works = "works_steps" if report.decisive else "checked_steps"
    titles = ((works, report.working), ("not_tested_steps", report.not_tried))
    for text, names in titles:
        if names:
            lines += _wrapped(say(text, names=", ".join(names)), _INDENT, 1)
    lines += effort
    left = MAX_LINES - len(lines) - 1
    if report.message and left > 0:
        lines.append(_INDENT + _message_title(report))
        *told, _, machine = report.message
        text = " ".join(f"{line.rstrip('.')}." for line in (*told, machine))
        lines += _wrapped(text, _INDENT * 2, left)
    return "\n".join(lines)


def as_long(report: ProbeReport, *, is_colored: bool = False) -> str:
    return "\n".join(_long_lines(report, is_colored))


def _long_lines(report: ProbeReport, is_colored: bool) -> Iterator[str]:
    yield _colored(report.sentence, report.verdict, is_colored)
    if report.decisive:
        yield _who(report) if report.fixer else f"[{report.id}]"
        yield say("next_step", step=report.next_step)
    yield " ".join(_effort(report))
    yield ""
    # Show each hint once; the hint of the verdict is already above.
    hints = {report.hint, ""}
    indent = " " * (_TITLE_WIDTH + 1)
    for result in report.tried:
        diagnosis = result.diagnosis
        figure = f"{diagnosis.figure}: " if diagnosis.figure else ""
        title = f"{_MARKS[diagnosis.verdict]} {result.title}"
        line = f"{title:<{_TITLE_WIDTH}} {figure}{diagnosis.sentence}"
        yield _colored(line, diagnosis.verdict, is_colored)
        facts = [f"{name}: {fact}" for name, fact in evidence(diagnosis).items()]
        for line in (*diagnosis.details, *facts):
            yield f"{indent}{line}"
        if diagnosis.hint:
            hint = "" if diagnosis.hint in hints else f" {diagnosis.hint}"
            yield f"{indent}[{diagnosis.id}]{hint}"
        hints.add(diagnosis.hint)
    if report.not_tried:
        yield say("not_tested_steps", names=", ".join(report.not_tried))
    if report.message:
        yield ""
        yield _message_title(report)
        for line in report.message:
            yield f"  {line}"
    yield ""
    yield environment_summary()


def as_page(report: ProbeReport) -> str:
    return "\n".join(
        (
            "<!doctype html>",
            f'<html lang="{current()}">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(say('probe_of', url=report.base_url))}</title>",
            f"<pre>{escape(as_long(report))}</pre>",
            "",
        )
    )


def _who(report: ProbeReport) -> str:
    who = say("who_can_fix", fixer=say(str(report.fixer)))
    return f"{who} [{report.id}]"


def _message_title(report: ProbeReport) -> str:
    return say("text_to_send", fixer=say(str(report.fixer.other)))


def _effort(report: ProbeReport) -> tuple[str, str]:
    """Return what was sent, and who received the key."""
    source = ""
    if report.url_source == OPENAI_DEFAULT:
        source = say("openai_default")
    elif report.url_source:
        source = say("from_variable", variable=report.url_source)
    time = format_duration(report.seconds)
    count = "one_request" if report.requests == 1 else "count_requests"
    sent = say(count, count=report.requests, time=time)
    key_use = say("key_not_sent")
    if report.key_sent_to:
        key_use = say("key_sent_only_to", key=report.key, host=report.key_sent_to)
    return f"{report.base_url}{source}: {sent}.", key_use


def _wrapped(text: str, first: str, most: int) -> list[str]:
    """Return the text in at most `most` lines; mark omitted text with an ellipsis."""
    return textwrap.wrap(
        " ".join(text.split()),
        width(),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        max_lines=most,
        placeholder=" …",
        break_on_hyphens=False,
    )


def width() -> int:
    columns = shutil.get_terminal_size((WIDTH, 0)).columns
    return max(_NARROWEST, min(WIDTH, columns))


def _colored(text: str, verdict: Verdict, is_colored: bool) -> str:
    return f"\033[{_COLORS[verdict]}m{text}\033[0m" if is_colored else text


# docs/probe-report.schema.json describes the report; docs/probe.md says what may change
# without a new schema number.
SCHEMA = 3


def as_json(report: ProbeReport) -> str:
    document = {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "id": report.id,
        "family": report.family.name.lower(),
        "exit_code": report.family,
        "sentence": report.sentence,
        "fixer": report.fixer.in_json,
        "next_step": report.next_step,
        "message": report.message,
        "interrupted": report.interrupted.step if report.interrupted else None,
        "base_url": report.base_url,
        "base_url_from": report.url_source.replace(OPENAI_DEFAULT, "") or None,
        "key": report.key,
        "key_sent_to": report.key_sent_to,
        "service": report.service,
        "started": f"{report.started:%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(report.seconds, 3),
        "requests": report.requests,
        "probe": {
            "version": __version__,
            "python": platform.python_version(),
            "openssl": openssl_version(),
            "platform": f"{platform.system()} {platform.machine()}",
        },
        "findings": [_finding(result) for result in report.results],
    }
    # The output is pure ASCII, which every console and locale can show.
    return json.dumps(document)


def _finding(result: StepResult) -> dict[str, object]:
    diagnosis = result.diagnosis
    return {
        "step": result.step,
        "title": result.title,
        "id": diagnosis.id,
        "verdict": diagnosis.verdict,
        "fixer": diagnosis.fixer.in_json,
        "sentence": diagnosis.sentence,
        "hint": diagnosis.hint,
        "figure": diagnosis.figure,
        "details": list(diagnosis.details),
        "facts": dict(diagnosis.facts),
    }
