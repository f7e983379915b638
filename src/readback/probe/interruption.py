"""Ctrl-C and SIGTERM: the first ends the run with a report, the second at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt for the first of the signals; the next one kills."""
    # A signal that was ignored from the start, as nohup does, stays ignored.
    handled = [one for one in _SIGNALS if signal.getsignal(one) != signal.SIG_IGN]
    before = [signal.signal(one, _interrupt) for one in handled]
    try:
        yield
    finally:
        for one, handler in zip(handled, before):  # noqa: B905
            signal.signal(one, handler)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_DFL)
    raise KeyboardInterrupt
