"""Something changes the text of completions in transit."""

import re
import unicodedata

from tests.probe.gateway import (
    editing_text,
    page,
    when,
)
from tests.probe.misfortunes.arranging import kind_of, row

_TEXTS = (
    row(
        "control characters are removed",
        editing_text(
            lambda t: "".join(
                c for c in t if c in "\n\r\t" or unicodedata.category(c) != "Cc"
            )
        ),
        "first difference",
    ),
    row(
        "emoji become question marks",
        editing_text(lambda t: re.sub("[\U00010000-\U0010ffff]", "?", t)),
        "emoji|chang|plane|encod|U\\+FFFF",
    ),
    row("texts are cut at 1000 characters", editing_text(lambda t: t[:1000]), "chang"),
    row(
        "a translation changes the text",
        editing_text(lambda t: t.replace("Ready to copy?", "Prêt ?")),
        "chang",
    ),
    row("the text becomes empty", editing_text(lambda t: ""), "empty|cut|chang"),
    *(
        row(
            f"a firewall refuses {what}",
            when(
                lambda call, pattern=pattern: bool(pattern.search(call.body)),
                page(403, "403 Forbidden"),
            ),
            "Some texts",
            f"texts with {what} are not",
            "firewall",
            by="operator network",
            id="between.characters",
        )
        for what, pattern in (
            (
                "Cyrillic letters, emoji.*control characters",
                re.compile(b"[^ -~]|u0000"),
            ),
            ("markup and punctuation", re.compile(b"<b>")),
        )
    ),
)

TEXTS = kind_of("texts", *_TEXTS)
