"""The parts of pages that are rendered from a table, in the reader's language.

In docs/, such a part is between two comments that name it: `findings` of the probe and
`programs`. What the file has between them is for readers of the repository.
"""

import re
from itertools import groupby

from django.template.loader import render_to_string
from django.utils import translation

from readback import programs
from readback.probe.common.catalogue import Template, catalogue

_PART = re.compile(
    r"(?<=\[//\]: # \((findings|programs): begin\)\n\n).*?(?=\n\[//\]: # \(\1: end\))",
    re.S,
)
_PLACE_OR_MARKUP = re.compile(r"(\{\w+\})|[\\`*_\[\]<>|#]")


def fill(page: str, language: str) -> str:
    """Return a page with its parts rendered from their tables."""

    def part(found: re.Match[str]) -> str:
        rows = {"findings": _findings, "programs": _programs}[found[1]]
        with translation.override(language):
            return render_to_string(f"pages/{found[1]}.txt", rows(language))

    return _PART.sub(part, page)


def _programs(language: str) -> dict[str, object]:
    return {"programs": sorted(programs.table(), key=lambda row: row.name.lower())}


def _findings(language: str) -> dict[str, object]:
    """Return the findings by topic: the first word of their ids."""

    def shown(row: Template) -> dict[str, object]:
        sentence, hint = (_shown(text) for text in row.texts[language])
        fixer = catalogue().words[row.fixer][language] if hint else ""
        return {"row": row, "sentence": sentence, "hint": hint, "fixer": fixer}

    rows = catalogue().findings.values()
    topics = groupby(rows, key=lambda row: row.id.partition(".")[0])
    return {"topics": [(topic, [*map(shown, rows)]) for topic, rows in topics]}


def _shown(text: str) -> str:
    """Return a text as Markdown, with dots in place of what a report shows."""
    return _PLACE_OR_MARKUP.sub(lambda at: "*…*" if at[1] else f"\\{at[0]}", text)
