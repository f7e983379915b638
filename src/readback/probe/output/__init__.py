"""How a run is shown: its progress, then the report in one of several forms."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Shows how far a run has come."""

    def show(self, step: str, done: int) -> None:
        """Show the running step and how many steps are done."""

    def clear(self) -> None:
        """Remove what is shown."""
