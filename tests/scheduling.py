"""Which of the parallel processes runs which file.

One of them runs all journeys, with one browser, one server and one mail server.
"""

from xdist.scheduler import LoadScopeScheduling

_JOURNEYS = "tests/journeys/"


class OneBrowser(LoadScopeScheduling):
    """Assigns whole files to processes, and all journeys to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return _JOURNEYS if file.startswith(_JOURNEYS) else file
