"""The list of errors, generated from the contract in the reader's language.

Its English version is docs/errors.md, which `python -m` with the name of this module
writes; a test checks that it is current. The headings are the codes, because the
API's Link header points to them.
"""

import os
from pathlib import Path

from django.utils.translation import gettext as _

from readback.contract import REFUSALS


def markdown() -> str:
    title = _("Errors")
    format_ = _(
        'Every refusal has the body `{"error":{"code":"…"}}`. The header '
        "`X-Error-Detail` explains in one line what the API received and what it "
        "expected. Over HTTP/1.1, the reason phrase contains the code, for example "
        "`400 Bad Request (unknown_field)`. The journal of your key in the cabinet "
        "shows the same line, and what to set in your program."
    )
    order = _(
        "Checks run in a fixed order, and the status and the code are those of the "
        "first check that fails. `X-Error-Detail` names every difference between the "
        "body and the contract, so one request is enough to find them all."
    )
    explained = _(
        "If your program shows only the status, send the header `Prefer: explain`, or "
        "turn on “Explain refusals in the body” on the page of your key. The body then "
        "also has the line as `error.message`."
    )
    table = [
        "| {} | {} | {} |".format(_("code"), _("status"), _("what happened")),
        "| --- | --- | --- |",
    ]
    sections = []
    status, fix = _("Status"), _("How to fix it:")
    for code, row in REFUSALS.items():
        sentence = _(row.sentence)
        table.append(f"| [`{code}`](#{code}) | {row.status} | {sentence} |")
        sections.append(f"## `{code}`\n\n{status} {row.status}. {sentence}")
        sections.append(f"**{fix}** {_(row.hint)}")
    parts = [f"# {title}", format_, order, explained, "\n".join(table), *sections]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    django.setup()
    Path("docs/errors.md").write_text(markdown(), encoding="utf-8")
