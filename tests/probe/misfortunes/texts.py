"""Something changes the texts of answers."""

import html
import re
import unicodedata
from urllib.parse import unquote_plus

from tests.probe.misfortunes.arranging import kind_of, through
from tests.probe.misfortunes.gateway import (
    editing_text,
)
from tests.probe.misfortunes.judging import Misfortune

OTHERS = "network operator"
_CHANGED = r"chang|replac|remov|adds?|alter|differ|transit|not a completion|contract"


def _row(name, behave, *says, by=OTHERS, **more) -> Misfortune:
    expected = says or ((_CHANGED,) if by else ())
    return Misfortune(name, through(behave), expected, by, **more)


_TEXTS = (
    _row(
        "HTML entities are unescaped", editing_text(html.unescape), "HTML|entit|chang"
    ),
    _row("text is escaped for HTML", editing_text(html.escape), "HTML|escap"),
    _row(
        "double spaces are collapsed",
        editing_text(lambda t: re.sub("  +", " ", t)),
        "space|chang",
    ),
    _row(
        "`+` becomes a space",
        editing_text(lambda t: t.replace("+", " ")),
        r"\+|plus|space|chang|decod",
    ),
    _row(
        "percent codes are decoded",
        editing_text(unquote_plus),
        r"percent|%|decod|chang|\+",
    ),
    _row(
        "tabs become spaces",
        editing_text(lambda t: t.replace("\t", "    ")),
        "tab|space|chang",
    ),
    _row(
        "CR LF becomes LF",
        editing_text(lambda t: t.replace("\r\n", "\n")),
        "line end|CR",
    ),
    _row(
        "LF becomes CR LF",
        editing_text(lambda t: re.sub("\r?\n", "\r\n", t)),
        "line end|CR",
    ),
    _row(
        "line breaks are removed",
        editing_text(lambda t: re.sub("[\r\n]+", " ", t)),
        "line|chang",
    ),
    _row(
        "the last line break is removed",
        editing_text(lambda t: t.rstrip("\n")),
        "whitespace|space|line|trim",
    ),
    _row(
        "zero-width characters are removed",
        editing_text(lambda t: re.sub("[\u200b-\u200f\ufeff]", "", t)),
        "invisible|control|chang",
    ),
    _row(
        "control characters are removed",
        editing_text(
            lambda t: "".join(
                c for c in t if c in "\n\r\t" or unicodedata.category(c) != "Cc"
            )
        ),
        "control|invisible",
    ),
    _row(
        "NUL ends the text",
        editing_text(lambda t: t.partition("\0")[0]),
        "cut|NUL|control|chang",
    ),
    _row(
        "emoji become question marks",
        editing_text(lambda t: re.sub("[\U00010000-\U0010ffff]", "?", t)),
        "emoji|chang|plane|encod|U\\+FFFF",
        blame="charset",
    ),
    _row(
        "emoji are removed",
        editing_text(lambda t: re.sub("[\U00010000-\U0010ffff]", "", t)),
        "emoji|chang|remov|plane|encod",
        blame="charset",
    ),
    _row(
        "text is normalized to NFKC",
        editing_text(lambda t: unicodedata.normalize("NFKC", t)),
        "NFKC|normali",
    ),
    _row(
        "text is normalized to NFD",
        editing_text(lambda t: unicodedata.normalize("NFD", t)),
        "NFD|normali",
    ),
    _row(
        "quotes become typographic",
        editing_text(lambda t: t.replace('"', "”").replace("'", "’")),
        "quotation|typographic",
    ),
    _row(
        "two hyphens become a dash",
        editing_text(lambda t: t.replace("--", "—")),
        "typographic|dash",
    ),
    _row(
        "three dots become an ellipsis",
        editing_text(lambda t: t.replace("...", "…")),
        "typographic|dots|chang",
    ),
    _row(
        "Markdown is removed",
        editing_text(lambda t: re.sub(r"[*_`#]", "", t)),
        "chang|remov|Markdown",
    ),
    _row(
        "backslashes are removed",
        editing_text(lambda t: t.replace("\\", "")),
        "backslash|chang|escap",
    ),
    _row(
        "backslashes are doubled",
        editing_text(lambda t: t.replace("\\", "\\\\")),
        "backslash|chang|escap",
    ),
    _row(
        "tags are removed",
        editing_text(lambda t: re.sub(r"<[^>]*>", "", t)),
        "tag|HTML|chang|remov",
    ),
    _row("texts are cut at 1000 characters", editing_text(lambda t: t[:1000]), "cut"),
    _row(
        "texts are cut at 255 bytes",
        editing_text(lambda t: t.encode()[:255].decode(errors="ignore")),
        "cut",
    ),
    _row(
        "UTF-8 is read as Latin-1",
        editing_text(lambda t: t.encode().decode("latin-1")),
        "encoding|Latin",
        blame="charset",
    ),
    _row(
        "UTF-8 is read as Windows-1252",
        editing_text(lambda t: t.encode().decode("cp1252", "replace")),
        "encoding",
        blame="charset",
    ),
    _row(
        "UTF-8 is read as KOI8-R",
        editing_text(lambda t: t.encode().decode("koi8-r", "replace")),
        "encoding",
        blame="charset",
    ),
    _row(
        "a translation changes the text",
        editing_text(lambda t: "Bonjour le monde" if t.isascii() else t),
        "chang",
    ),
    _row(
        "a signature is appended",
        editing_text(lambda t: f"{t}\n-- \nChecked by AV"),
        "chang|append|add",
    ),
    _row(
        "a warning is put before the text",
        editing_text(lambda t: f"[EXTERNAL] {t}"),
        "chang|add",
    ),
    _row("the text becomes empty", editing_text(lambda t: ""), "empty|cut|chang"),
    _row(
        "only long texts are changed",
        editing_text(lambda t: t if len(t) < 2000 else t[:-5] + "[...]"),
        "chang|cut",
    ),
)

TEXTS = kind_of("texts", *_TEXTS)
