"""Something changes the texts of answers."""

import html
import re

from tests.probe.gateway import editing_text
from tests.probe.misfortunes.arranging import kind_of, through
from tests.probe.misfortunes.judging import Misfortune

_CHANGES = {
    "text is escaped for HTML": html.escape,
    "LF becomes CR LF": lambda t: re.sub("\r?\n", "\r\n", t),
    "control characters are removed": lambda t: re.sub("[\0-\x08\x0e-\x1f]", "", t),
    "NUL ends the text": lambda t: t.partition("\0")[0],
    "emoji become question marks": lambda t: re.sub("[\U00010000-\U0010ffff]", "?", t),
    "texts are cut at 1000 characters": lambda t: t[:1000],
    "UTF-8 is read as Latin-1": lambda t: t.encode().decode("latin-1"),
    "the text becomes empty": lambda t: "",
    "only long texts are changed": lambda t: t if len(t) < 2000 else t[:-5] + "[...]",
}

TEXTS = kind_of(
    "texts",
    *(
        Misfortune(name, through(editing_text(change)), ("chang",), "network operator")
        for name, change in _CHANGES.items()
    ),
)
