"""Which of the parallel processes runs which file: two of them have a browser.

A process that runs a journey starts a browser, a server and a mail server, and keeps
them for all of its journeys.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

_PROCESSES = 2
_JOURNEYS = "tests/journeys/"


class FewBrowsers(LoadScopeScheduling):
    """Gives each process whole files, as its base class does; journeys to two only."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._journeys: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not file.startswith(_JOURNEYS):
            return file
        # In turn, and in the random order of the files.
        number = len(self._journeys) % _PROCESSES
        return self._journeys.setdefault(file, f"{_JOURNEYS} {number}")
