"""Which of the parallel processes runs which file: one of them has a browser.

The process that runs a journey starts a browser, a server and a mail server, and keeps
them for all journeys.
"""

from xdist.scheduler import LoadScopeScheduling

_JOURNEYS = "tests/journeys/"


class OneBrowser(LoadScopeScheduling):
    """Gives whole files to each process, and all journeys to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return _JOURNEYS if file.startswith(_JOURNEYS) else file
