"""The step "key": checks the form of the key before anything is sent.

The key is held only in `Secret`; a report contains only its mask.
"""

from __future__ import annotations

import re
from dataclasses import replace

from readback import keys
from readback.probe.diagnoses import diagnose
from readback.probe.results import Diagnosis, Fact, ProbeError

_BLANK = "[\\s\u200b-\u200d\u2060\ufeff]+"
# From the outside in, as they usually surround a pasted key.
_WRAPPING = (
    ("key.spaces", re.compile(f"^{_BLANK}|{_BLANK}$")),
    ("key.quoted", re.compile("^[\"'`\u2018\u201c]+|[\"'`\u2019\u201d]+$")),
    ("key.bearer", re.compile(r"^bearer\s+", re.IGNORECASE)),
)


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

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
        # The last four characters of a short secret would reveal too much of it.
        if len(self._text) != keys.LENGTH or not self._text.isascii():
            return "not a valid key"
        return keys.masked(keys.last_characters(self._text))

    @property
    def is_readback_key(self) -> bool:
        return self._text.startswith(keys.PREFIX)

    def reveal(self) -> str:
        """Return the key itself; use it only in a request header."""
        return self._text

    def redact(self, diagnosis: Diagnosis) -> Diagnosis:
        """Return the diagnosis with every occurrence of the key masked."""
        return replace(
            diagnosis,
            sentence=self._redact_text(diagnosis.sentence),
            hint=self._redact_text(diagnosis.hint),
            figure=self._redact_text(diagnosis.figure),
            facts={
                name: self._redact_fact(fact) for name, fact in diagnosis.facts.items()
            },
        )

    def _redact_fact(self, fact: Fact) -> Fact:
        if isinstance(fact, str):
            return self._redact_text(fact)
        if isinstance(fact, list):
            return [self._redact_fact(item) for item in fact]
        if isinstance(fact, dict):
            return {name: self._redact_fact(item) for name, item in fact.items()}
        return fact

    def _redact_text(self, text: str) -> str:
        return text.replace(self._text, self.mask) if self._text else text


def check(secret: Secret) -> tuple[Diagnosis, Secret]:
    """Check a pasted key and remove what surrounds it; an invalid key is never sent."""
    if not secret:
        return diagnose("key.absent"), secret
    mistakes, key = _unwrap(secret.reveal())
    if not key.startswith(keys.PREFIX):
        return diagnose("key.foreign"), Secret(key)
    if why := keys.why_invalid(key.encode("utf-8", "replace")):
        raise ProbeError(_invalid_key_id(key), reason=why)
    unwrapped = Secret(key)
    id = mistakes[0] if mistakes else "key.ok"
    return diagnose(id, key=unwrapped.mask), unwrapped


def _unwrap(text: str) -> tuple[list[str], str]:
    """Return the diagnosis ids of what surrounded the key, and the key alone."""
    mistakes = []
    for id, pattern in _WRAPPING:
        if (stripped := pattern.sub("", text)) != text:
            mistakes.append(id)
            text = stripped
    return mistakes, text


def _invalid_key_id(text: str) -> str:
    """Return the diagnosis id for a key that cannot be valid."""
    if "…" in text or "..." in text or "*" in text:
        return "key.mask"
    if len(text) != keys.LENGTH:
        return "key.cut" if len(text) < keys.LENGTH else "key.long"
    rest = text.removeprefix(keys.PREFIX)
    return "key.typo" if set(rest) <= set(keys.ALPHABET) else "key.characters"
