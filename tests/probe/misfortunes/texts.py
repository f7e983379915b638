"""Something changes the text of completions in transit."""

import re
import unicodedata

from tests.probe.gateway import (
    editing_text,
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
)

TEXTS = kind_of("texts", *_TEXTS)
