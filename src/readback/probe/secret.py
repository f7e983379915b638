"""The step "key": what is wrong with its form, told before anything is sent.

The key lives in `Secret` and nowhere else; all that a report gets is its mask.
"""

import re
from dataclasses import replace

from readback import keys
from readback.probe.diagnoses import found
from readback.probe.findings import Fact, Finding, Trouble

_BLANK = "[\\s\u200b-\u200d\u2060\ufeff]+"
# In the order in which a paste wraps them around each other.
_STRAY = (
    ("key.spaces", re.compile(f"^{_BLANK}|{_BLANK}$")),
    ("key.quoted", re.compile("^[\"'`\u2018\u201c]+|[\"'`\u2019\u201d]+$")),
    ("key.bearer", re.compile(r"^bearer\s+", re.IGNORECASE)),
)


class Secret:
    """A key that does not show itself: neither printed nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return self.mask

    @property
    def mask(self) -> str:
        if not self._text:
            return "none"
        # Four characters of something short would be too much of it.
        if len(self._text) != keys.LENGTH or not self._text.isascii():
            return "not a whole key"
        return keys.masked(self._text[-4:])

    def reveal(self) -> str:
        """Give the key itself, to be put into a header and nowhere else."""
        return self._text

    def scrub(self, finding: Finding) -> Finding:
        """Take the key out of a finding, whoever put it there."""
        return replace(
            finding,
            sentence=self._without(finding.sentence),
            hint=self._without(finding.hint),
            figure=self._without(finding.figure),
            facts={name: self._cleaned(fact) for name, fact in finding.facts.items()},
        )

    def _cleaned(self, fact: Fact) -> Fact:
        if isinstance(fact, str):
            return self._without(fact)
        if isinstance(fact, list):
            return [self._cleaned(item) for item in fact]
        if isinstance(fact, dict):
            return {name: self._cleaned(item) for name, item in fact.items()}
        return fact

    def _without(self, text: str) -> str:
        return text.replace(self._text, self.mask) if self._text else text


def check(secret: Secret) -> tuple[Finding, Secret]:
    """Read a key as people paste it; one that cannot be right is never sent."""
    if not secret:
        raise Trouble("key.none")
    slips, meant = _mend(secret.reveal())
    if flaw := keys.why_invalid(meant.encode("utf-8", "replace")):
        raise Trouble(_flaw_id(meant), flaw=flaw)
    mended = Secret(meant)
    return found(slips[0] if slips else "key.ok", key=mended.mask), mended


def _mend(text: str) -> tuple[list[str], str]:
    slips = []
    for id, stray in _STRAY:
        if (better := stray.sub("", text)) != text:
            slips.append(id)
            text = better
    return slips, text


def _flaw_id(text: str) -> str:
    """Say which way a key went wrong that no Readback has ever made."""
    if not text.startswith(keys.PREFIX):
        return "key.prefix"
    if "…" in text or "..." in text or "*" in text:
        return "key.mask"
    if len(text) != keys.LENGTH:
        return "key.cut" if len(text) < keys.LENGTH else "key.long"
    rest = text.removeprefix(keys.PREFIX)
    return "key.typo" if set(rest) <= set(keys.ALPHABET) else "key.characters"
