"""A key that the probe holds: it is sent in a request header and never shown."""

from __future__ import annotations

from dataclasses import replace

from readback import keys
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.entered.pasted_key import find_readback_keys, unwrap

# A shorter text is a part of many words, and replacing it would spoil the report.
_SHORTEST_REDACTED = 6


class Secret:
    """A key that appears neither in printed output nor in a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._forms = _forms(text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return self.mask

    @property
    def is_readback_key(self) -> bool:
        """Whether this is exactly a Readback key, with the right checksum."""
        return keys.why_invalid(self._text.encode("utf-8", "replace")) is None

    @property
    def mask(self) -> str:
        if not self._text:
            return "none"
        if not self.is_readback_key:
            return "not a Readback key"
        return keys.masked(keys.last_characters(self._text))

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
            details=tuple(map(self._redact_text, diagnosis.details)),
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
        for form, mask in self._forms.items():
            text = text.replace(form, mask)
        return text


def _forms(text: str) -> dict[str, str]:
    """Return the forms in which the key could be shown, longest first, with masks."""
    masks = dict.fromkeys((text, text.strip(), *unwrap(text).keys), "[key]")
    if found := find_readback_keys(text):
        masks.update(
            (one, keys.masked(keys.last_characters(one))) for one in found.keys
        )
    longest_first = sorted(masks, key=len, reverse=True)
    return {one: masks[one] for one in longest_first if len(one) >= _SHORTEST_REDACTED}
