"""A streamed completion: reads server-sent events and notes when each part arrived."""

from __future__ import annotations

import time
from typing import Any

from readback.probe.service.api_answers import ApiError, error_in, parse_json

_DONE = b"[DONE]"
# The text of a part, or the thoughts that some models send before it.
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning")
# No model makes this many parts in so short a time: something has collected them.
_FEWEST_PARTS = 5
_TOGETHER_SECONDS = 0.005
# A short answer from a cache may well arrive at once.
_LEAST_SECONDS = 0.15


class EventStream:
    def __init__(self) -> None:
        self._started = time.monotonic()
        self._rest = b""
        self.moments: list[float] = []
        """The seconds from the request until each part was read."""
        self._arrivals: list[float] = []
        """The seconds from the request during which each part had not arrived."""
        self.first_text: float | None = None
        self.is_done = False
        self.error: ApiError | None = None

    def feed(self, received: bytes, arrived: float) -> None:
        """Read a part that had not arrived before this moment of the clock."""
        seen = (time.monotonic() - self._started, arrived - self._started)
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._read_event(line[len(b"data:") :].strip(), *seen)

    @property
    def arrived_together(self) -> bool:
        """Whether all parts arrived at one moment, long after the request."""
        # By what was proved to be late: a busy machine reads late what came in time.
        if len(self._arrivals) < _FEWEST_PARTS or self._arrivals[0] < _LEAST_SECONDS:
            return False
        return self._arrivals[-1] - self._arrivals[0] < _TOGETHER_SECONDS

    def _read_event(self, data: bytes, moment: float, arrived: float) -> None:
        if data == _DONE:
            self.is_done = True
            return
        content = parse_json(data)
        self.error = self.error or error_in(content)
        choices = content.get("choices") if isinstance(content, dict) else None
        if not isinstance(choices, list) or not choices:
            return
        self.moments.append(moment)
        self._arrivals.append(arrived)
        if self.first_text is None and _has_text(choices[0]):
            self.first_text = moment


def _has_text(choice: Any) -> bool:
    delta = choice.get("delta") if isinstance(choice, dict) else None
    return isinstance(delta, dict) and any(delta.get(name) for name in _TEXT_FIELDS)
