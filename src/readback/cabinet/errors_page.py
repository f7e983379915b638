"""The page of refusals, written from the contract in the reader's language.

Its English form is docs/errors.md: `python -m readback.cabinet.errors_page` writes
it, and a test holds that it is current. The headings are the codes, because the
API's Link header points at them.
"""

import os
from pathlib import Path

from django.utils.translation import gettext as _

from readback.contract import REFUSALS, Refusal


def markdown() -> str:
    parts = [_head(), _table(), *(_section(row) for row in REFUSALS.values())]
    return "\n\n".join(parts) + "\n"


def _head() -> str:
    told = _(
        'Every refusal has the body `{"error":{"code":"…"}}`. The header '
        "`X-Error-Detail` says in one sentence what came and what was expected, and "
        "the reason phrase carries the code, as in `400 Bad Request (unknown_field)`. "
        "The journal of your key in the cabinet shows the same sentence."
    )
    first = _(
        "Checks run in a fixed order, and the first that fails answers: a request with "
        "two mistakes shows the second one after you mend the first."
    )
    title = _("Errors")
    return f"# {title}\n\n{told}\n\n{first}"


def _table() -> str:
    rows = [
        f"| [`{row.code}`](#{row.code}) | {row.status} | {_(row.sentence)} |"
        for row in REFUSALS.values()
    ]
    head = [_("code"), _("status"), _("what happened")]
    return "\n".join(["| {} | {} | {} |".format(*head), "| --- | --- | --- |", *rows])


def _section(row: Refusal) -> str:
    status, mend = _("Status"), _("To mend it:")
    happened = f"{status} {row.status}. {_(row.sentence)}"
    return f"## `{row.code}`\n\n{happened}\n\n**{mend}** {_(row.hint)}"


def _write(path: Path) -> None:
    path.write_text(markdown(), encoding="utf-8")


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    django.setup()
    _write(Path("docs/errors.md"))
