"""Something changes the texts of answers."""

import html
import re
import unicodedata

from tests.probe.gateway import (
    editing_text,
)
from tests.probe.misfortunes.arranging import kind_of, row

_TEXTS = (
    row("text is escaped for HTML", editing_text(html.escape), "HTML|escap"),
    row(
        "LF becomes CR LF",
        editing_text(lambda t: re.sub("\r?\n", "\r\n", t)),
        "line end|CR",
    ),
    row(
        "control characters are removed",
        editing_text(
            lambda t: "".join(
                c for c in t if c in "\n\r\t" or unicodedata.category(c) != "Cc"
            )
        ),
        "control|invisible",
    ),
    row(
        "NUL ends the text",
        editing_text(lambda t: t.partition("\0")[0]),
        "cut|NUL|control|chang",
    ),
    row(
        "emoji become question marks",
        editing_text(lambda t: re.sub("[\U00010000-\U0010ffff]", "?", t)),
        "emoji|chang|plane|encod|U\\+FFFF",
        blame="charset",
    ),
    row("texts are cut at 1000 characters", editing_text(lambda t: t[:1000]), "cut"),
    row(
        "UTF-8 is read as Latin-1",
        editing_text(lambda t: t.encode().decode("latin-1")),
        "encoding|Latin",
        blame="charset",
    ),
    row(
        "a translation changes the text",
        editing_text(lambda t: t.replace("Ready to copy?", "Prêt ?")),
        "chang",
    ),
    row("the text becomes empty", editing_text(lambda t: ""), "empty|cut|chang"),
    row(
        "only long texts are changed",
        editing_text(lambda t: t if len(t) < 2000 else t[:-5] + "[...]"),
        "chang|cut",
    ),
)

TEXTS = kind_of("texts", *_TEXTS)
