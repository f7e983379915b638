"""The server as a test sees it: its addresses, one key, and what arrived with it."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from readback.contract import MODEL, MODELS_PATH
from readback.pytest_plugin.arrived import (
    ArrivedRequest,
    Expectation,
    difference_ids,
    report,
)
from readback.pytest_plugin.database import JournalDatabase

# Our server writes all of its journal twice a second.
_JOURNAL_SECONDS = 30
_POLL_SECONDS = 0.01


@dataclass
class Marker:
    """Requests of our own: when one is written, so is everything before it."""

    key: str
    sent: int = 0


@dataclass(frozen=True)
class ReadbackServer:
    """A running server, and one of its keys."""

    base_url: str
    api_key: str = field(repr=False)
    cabinet_url: str
    _database: JournalDatabase = field(repr=False)
    _marker: Marker = field(repr=False)
    model: str = MODEL

    def with_new_key(self) -> "ReadbackServer":
        """Return the same server with a new key, with which nothing has arrived."""
        return replace(self, api_key=self._database.create_key(self.api_key))

    def expect(
        self,
        *,
        program: str | None = None,
        differences: str | Collection[str] | None = None,
        **outcomes: int,
    ) -> list[ArrivedRequest]:
        """Assert what arrived with this key until now; return it.

        Each outcome is `accepted` or the code of a refusal, and the number of requests
        that had it; none arrived with another outcome. Every request is of `program`,
        and every refused one has exactly these `differences`. An argument that no
        expected request could be compared with is a usage error.
        """
        __tracebackhide__ = True
        expectation = Expectation(outcomes, program, difference_ids(differences))
        expectation.check()
        self._wait_for_journal()
        arrived = self._database.arrived(self.api_key)
        counts = self._database.outcomes(self.api_key)
        violations = list(expectation.violations(counts, arrived))
        if violations:
            raise AssertionError(report(violations, arrived))
        return arrived

    def _wait_for_journal(self) -> None:
        """Wait until everything that was answered until now is written."""
        __tracebackhide__ = True
        marker = self._marker
        self._send(marker)
        deadline = time.monotonic() + _JOURNAL_SECONDS
        while self._database.outcomes(marker.key).total() < marker.sent:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Readback has not written its journal for {_JOURNAL_SECONDS} s."
                )
            time.sleep(_POLL_SECONDS)

    def _send(self, marker: Marker) -> None:
        # Not with urllib, which would use the proxies of the environment.
        address = urlsplit(self.base_url).netloc
        connection = HTTPConnection(address, timeout=_JOURNAL_SECONDS)
        headers = {"Authorization": f"Bearer {marker.key}"}
        try:
            connection.request("GET", MODELS_PATH, headers=headers)
            connection.getresponse().read()
        except (OSError, HTTPException) as error:
            raise RuntimeError(f"Readback does not answer: {error}") from None
        finally:
            connection.close()
        marker.sent += 1
