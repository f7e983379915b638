"""`--report FILE`: the long text as one HTML page, to attach to a ticket.

The page loads nothing, runs nothing and forbids both (its Content-Security-Policy).
"""

from __future__ import annotations

import base64
from hashlib import sha256
from html import escape

from readback.probe.common.catalogue import current, say
from readback.probe.output.text import long_lines
from readback.probe.report import ProbeReport

_STYLE = """
:root { color-scheme: light dark; }
pre { font: 14px/1.5 ui-monospace, Consolas, monospace; white-space: pre-wrap; }
.ok { color: light-dark(#1a7f4b, #5cc98f); } .skip { color: light-dark(#666, #999); }
.warn { color: light-dark(#8a5a00, #e0b050); }
.fail { color: light-dark(#c4302b, #ff8a80); font-weight: bold; }
"""


def as_page(report: ProbeReport) -> str:
    digest = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    lines = "\n".join(
        f'<span class="{verdict}">{escape(line)}</span>' if verdict else escape(line)
        for line, verdict in long_lines(report)
    )
    return "\n".join(
        (
            "<!doctype html>",
            f'<html lang="{current()}">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(say('probe_of', url=report.base_url))}</title>",
            f"<style>{_STYLE}</style>",
            f"<pre>{lines}</pre>",
            "",
        )
    )
