"""`--report FILE`: the report as one HTML page, to attach to a ticket.

The page loads nothing, runs nothing and forbids both (its Content-Security-Policy); it
shows the path to the service and where it breaks. It is also made for paper.
"""

from __future__ import annotations

import base64
import pkgutil
from collections.abc import Iterable
from hashlib import sha256
from html import escape

from readback.probe.common.catalogue import current, say
from readback.probe.common.results import Fixer, StepResult, Verdict
from readback.probe.output.text import message_title, seen_at
from readback.probe.report import ProbeReport, environment_summary, evidence

_MARKS = {Verdict.OK: "✓", Verdict.WARN: "!", Verdict.FAIL: "✗", Verdict.SKIP: "–"}
_WORDS = {
    Verdict.OK: "works",
    Verdict.WARN: "warning",
    Verdict.FAIL: "fails",
    Verdict.SKIP: "not_tested",
}
_GRAVITY = (Verdict.FAIL, Verdict.WARN, Verdict.OK)
# The stations of the path, each with its steps; "gateway" and "service" share theirs.
_STATIONS = {
    "you": ("address", "key", "clients", "run"),
    "DNS": ("dns",),
    "tcp_and_proxy": ("proxies", "tcp"),
    "TLS": ("tls",),
    "gateway": ("http", "agents", "between"),
    "service": (),
}
_NO_TLS = "tls.none"


def as_page(report: ProbeReport) -> str:
    title = say("probe_of", url=report.base_url)
    return _page(title, report.verdict, _sections(report))


def _page(title: str, verdict: Verdict, lines: Iterable[str]) -> str:
    css = (pkgutil.get_data(__name__, "page.css") or b"").decode()
    digest = base64.b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    return "\n".join(
        (
            "<!doctype html>",
            f'<html lang="{current()}">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{css}</style>",
            f'<body class="{verdict}">',
            *filter(None, lines),
            f"<footer>{escape(environment_summary())}</footer>",
            "",
        )
    )


def _sections(report: ProbeReport) -> list[str]:
    verdict = report.verdict
    lines = [
        f"<p class=quiet>{escape(say('probe_of', url=report.base_url))}</p>",
        f'<h1 class="{verdict}">{_mark(verdict)} {escape(report.sentence)}</h1>',
    ]
    if report.decisive:
        step = say("next_step", step=report.next_step)
        fixer = say("who_can_fix", fixer=say(str(report.fixer)))
        lines += [
            f"<p class=next>{escape(step)}</p>",
            f"<p>{escape(fixer)} <code>{escape(report.id)}</code></p>",
        ]
    facts = f"{report.started:%Y-%m-%d %H:%M:%S} UTC, {report.effort}. {report.key_use}"
    lines += [f"<p class=quiet>{escape(facts)}</p>", _path(report)]
    if report.message:
        text = "\n".join(report.message)
        lines.append(f"<h2>{escape(message_title(report))}</h2>")
        lines.append(f"<pre class=message>{escape(text)}</pre>")
    lines += [f"<h2>{escape(say('steps'))}</h2>", "<ol class=steps>"]
    lines += [_step(result, also) for result, also in report.findings]
    lines.append("</ol>")
    if report.not_tried:
        skipped = say("not_tested_steps", names=", ".join(report.not_tried))
        lines.append(f"<p class=quiet>{escape(skipped)}</p>")
    return lines


def _path(report: ProbeReport) -> str:
    """Return the stations on the way; the path breaks at the one of the verdict."""
    found: dict[str, list[Verdict]] = {name: [] for name in _STATIONS}
    for result in report.results:
        found[_station(result)].append(result.diagnosis.verdict)
    broken = _station(report.failure) if report.failure else ""
    items = []
    for name, verdicts in found.items():
        worst = next((one for one in _GRAVITY if one in verdicts), Verdict.SKIP)
        is_break = name == broken
        kind = f"{worst} break" if is_break else str(worst)
        state = say("breaks_here") if is_break else say(_WORDS[worst])
        if name == "TLS" and any(one.diagnosis.id == _NO_TLS for one in report.results):
            state = say("not_used")
        items.append(
            f'<li class="{kind}">{_mark(worst)}<b>{escape(say(name))}</b>'
            f"<span>{escape(state)}</span></li>"
        )
    label = escape(say("path_to_service"))
    return f'<ol class=path aria-label="{label}">{"".join(items)}</ol>'


def _station(result: StepResult) -> str:
    step, one = result.step, result.diagnosis
    if one.id.startswith("proxy."):  # It may show only when TLS or HTTP begins.
        return "tcp_and_proxy"
    name = next((name for name in _STATIONS if step in _STATIONS[name]), "service")
    if one.verdict == Verdict.FAIL and name in ("gateway", "service"):
        return "gateway" if one.fixer is Fixer.NETWORK else "service"
    # Before anything is connected, a proxy is only a setting of this machine.
    is_setting = step == "proxies" and one.verdict == Verdict.OK
    return "you" if is_setting else name


def _step(result: StepResult, also: list[str]) -> str:
    one = result.diagnosis
    details = [*one.details, *seen_at(also)]
    hint = f"<p class=hint>→ {escape(one.hint)}</p>" if one.hint else ""
    is_cause = one.verdict in (Verdict.FAIL, Verdict.WARN)
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>"
        for name, fact in (evidence(one) if is_cause else {}).items()
    )
    figure = escape(one.figure)
    return (
        f'<li class="{one.verdict}">{_mark(one.verdict)}'
        f"<h3>{escape(result.title)}</h3><span class=figure>{figure}</span>"
        f"<p>{escape(one.sentence)}</p>{_list(details)}{hint}"
        + (f"<dl>{facts}</dl>" if facts else "")
        + f"<code>{escape(one.id)}</code></li>"
    )


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line.strip())}</li>" for line in lines if line)
    return f"<ul>{items}</ul>" if items else ""


def _mark(verdict: Verdict) -> str:
    return f'<i class="mark {verdict}" aria-hidden=true>{_MARKS[verdict]}</i>'
