"""The search index of the documentation: sections, words and messages.

Each heading of a page begins a section. Each row of the symptoms page is also a section
and leads to the place that its link names. Each setting and each row of a table of
messages is a section, too. `messages.toml` adds messages that the pages do not show.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from readback.cabinet.pages import docs
from readback.cabinet.pages.docs import INDEX, SETTING, anchor, source
from readback.contract import REFUSALS

# How many times as much a word counts in a heading as in the body.
_IN_HEADING = 2.0
_STEM_LENGTH = 7
# The index lists the pages for operators below this heading.
_FOR_HOSTS = "\n## I host it"
# Most people who search are connecting a program, so pages for operators count less. So
# do findings, which people find by their ids, and programs, which they find by name.
_WEIGHT_OF_OTHERS = 0.6

# Words that only ask a question or join others say nothing about the subject.
_JOINING_WORDS = """
a an and are as at be by can could did do does for from has have how i if in into is it
its me my no not of on or so that the then there this to was were what when where which
why will with would you your
без в во все вы где для до если есть за и из или как какой какая какие когда который ли
мне мой моя мы на не нет но о об от по под почему при с со так то только у уже через что
чтобы это я
"""
_JOINING = frozenset(_JOINING_WORDS.split())
_LINKED = re.compile(r"\((?:\.\./)?([a-z-]+)\.md")
_HEADING = re.compile(r"^#{1,4} (.+)$", re.M)
_EXAMPLE = re.compile(r"^```.*?^```$", re.M | re.S)
INNER_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ROW = re.compile(r"\| (.+?) \| (.+?) \| .*?\]\((?:\.\./)?([a-z-]+)\.md(#[\w-]+)?\)")
_SETTING_ROW = re.compile(rf"^\| {SETTING.pattern} \| .+? \| (.+) \|$", re.M)
# A table of messages in a section: what programs print, and what it means.
_MESSAGES_TABLE = re.compile(
    r"^\| (?:message|сообщение) \|.*\n\|[- |]+\n((?:\|.*\n?)+)", re.M
)
_MESSAGES_ROW = re.compile(r"^\| (`.+?) \| (.+) \|$", re.M)
_MESSAGE = re.compile("`([^`]+)`")
_QUOTED = re.compile("[“«]([^”»]+)[”»]")
_MORE_MESSAGES = Path(__file__).with_name("messages.toml")
# In a message, this marks words that vary.
_GAP = "…"
# Words further apart belong to different sentences or to a log around the message.
_FEW_WORDS = " (?:.{1,80} )?"


class DocSection(NamedTuple):
    page: str
    title: str
    heading: str
    anchor: str
    text: str
    names: tuple[str, ...] = ()
    """Words that certainly lead here: a code, a setting, or a symptom's messages."""
    vague_names: tuple[str, ...] = ()
    """Messages that lead here only if the query contains nothing more precise."""
    is_symptom: bool = False


class SearchIndex(NamedTuple):
    sections: list[DocSection]
    words: dict[str, dict[int, float]]
    """How much a word counts in each section that has it."""
    names: dict[str, list[int]]
    """The numbers of the sections to which a name leads, including the vague names."""
    vague_names: set[str]


@cache
def search_index(language: str) -> SearchIndex:
    for_hosts = source(INDEX, "en")[0].partition(_FOR_HOSTS)[2]
    others = {"findings", "programs", *_LINKED.findall(for_hosts)}
    order = _LINKED.findall(source(INDEX, language)[0])
    sections: list[DocSection] = []
    words: dict[str, dict[int, float]] = {}
    names: dict[str, list[int]] = {}
    # Among equally good sections, those of pages listed earlier come first.
    for name in sorted(docs.names(), key=lambda name: (*order, name).index(name)):
        factor = _WEIGHT_OF_OTHERS if name in others else 1.0
        for section in _sections(name, language):
            number = len(sections)
            sections.append(section)
            for word in stems(section.text):
                words.setdefault(word, {})[number] = factor
            for word in stems(f"{section.title} {section.heading}"):
                words.setdefault(word, {})[number] = factor * _IN_HEADING
            for each in {*section.names, *section.vague_names}:
                names.setdefault(each, []).append(number)
    vague = {name for section in sections for name in section.vague_names}
    return SearchIndex(sections, words, names, vague)


def _sections(name: str, language: str) -> Iterator[DocSection]:
    text = source(name, language)[0]
    title = plain(text.partition("\n")[0])
    if name == "symptoms":
        for symptom, meaning, page, place in _ROW.findall(text):
            title = plain(source(page, language)[0].partition("\n")[0])
            yield _symptom(page, title, symptom, place, meaning)
        return
    for setting, meaning in _SETTING_ROW.findall(text):
        place = f"#{anchor(setting)}"
        yield DocSection(name, title, setting, place, meaning, (as_words(setting),))
    # A comment in an example is not a heading.
    text = _EXAMPLE.sub(lambda found: found[0].replace("\n#", "\n"), text)
    _, *parts = _HEADING.split(_SETTING_ROW.sub("", text))
    for heading, content in zip(parts[::2], parts[1::2], strict=True):
        place = f"#{anchor(heading)}" if heading != parts[0] else ""
        # A heading made of ordinary words would match many messages by chance.
        names = [as_words(heading)] if "_" in heading else []
        if name == "errors":
            names += map(as_words, _shown_for(plain(heading)))
        if name in ("connect", "messages"):
            rows = _MESSAGES_ROW.findall("".join(_MESSAGES_TABLE.findall(content)))
            for messages, meaning in rows:
                yield _symptom(name, plain(heading), messages, place, meaning)
            content = _MESSAGES_TABLE.sub("", content)
        if content.strip():  # a heading alone answers nothing
            yield DocSection(name, title, plain(heading), place, content, tuple(names))


def _symptom(
    page: str, title: str, messages: str, place: str, meaning: str
) -> DocSection:
    shown = _MESSAGE.findall(messages)
    more = more_messages().get(shown[0], []) if shown else []
    vague = _QUOTED.findall(" ".join([messages, *more]))
    names = [*shown, *(message for message in more if not _QUOTED.match(message))]
    return DocSection(
        page,
        title,
        plain(messages),
        place,
        meaning,
        tuple(map(_as_name, names)),
        tuple(map(_as_name, vague)),
        is_symptom=True,
    )


@cache
def more_messages() -> Mapping[str, list[str]]:
    return tomllib.loads(_MORE_MESSAGES.read_text(encoding="utf-8"))


def _as_name(message: str) -> str:
    return _GAP.join(map(as_words, message.split(_GAP)))


def _shown_for(code: str) -> Iterator[str]:
    """Yield what programs show for a refusal: its status, if no other one has it."""
    statuses = [refusal.status for refusal in REFUSALS.values()]
    if (refusal := REFUSALS.get(code)) and statuses.count(refusal.status) == 1:
        yield f"error code {refusal.status}"


def stems(text: str) -> set[str]:
    """Return the words of a text without their endings.

    A compound such as `ConnectTimeout` also counts as two words.
    """
    text = text.replace("ё", "е")
    words = re.findall(r"[^\W_]+", f"{text} {INNER_WORD.sub(' ', text)}".casefold())
    return {word[:_STEM_LENGTH] for word in words if word not in _JOINING and word[1:]}


def as_words(text: str) -> str:
    """Return a text in a form that can be searched for whole words."""
    words = re.findall(r"(?:0x)?(\w+)", text.casefold().replace("ё", "е"))
    return f" {' '.join(words)} "


def has_name(phrase: str, name: str) -> bool:
    """Return whether a phrase contains the words of a name, with at most a few other
    words in its gaps.
    """
    if not all(part in phrase for part in name.split(_GAP)):
        return False
    pattern = name.replace(f" {_GAP} ", _FEW_WORDS)
    return pattern == name or bool(re.search(pattern, phrase))


def plain(text: str) -> str:
    """Return a text on one line, without Markdown markup."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()).strip("| "))
    return re.sub(r"[`*]|^[-#>]+ ?|\\(?=[\W_]|$)", "", text).replace(" | ", " · ")
