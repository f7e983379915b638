"""Whether the whole service is stopping, and whether a balancer must be told first.

A worker that is told to stop does not know whether other workers take over (a reload)
or the service ends. The manager writes that here before it signals the workers, and
whether the API or the cabinet is down. The workers write when they were last asked
whether they are ready.
"""

import mmap
import time

from readback.config import Config

# A balancer that checks once a minute may miss one check.
_CHECK_SECONDS = 120.0
# The notice that a person who pressed Ctrl-C waits for.
SHORT_NOTICE_SECONDS = 0.5
# What the cells contain. Times are monotonic, which all processes share.
_STOPPING, _HURRIED, _LAST_CHECK, _DOWN = range(4)
# Names for logs and messages. Each has a cell; `_DOWN` is the first of them.
API = "API"
CABINET = "cabinet"
_SERVERS = (API, CABINET)


class Lifecycle:
    """The state, in memory that the manager and all workers share."""

    def __init__(self) -> None:
        cells = _DOWN + len(_SERVERS)
        self._values = memoryview(mmap.mmap(-1, cells * 8)).cast("d")
        # By the wall clock.
        self.started_at = int(time.time())

    def stop(self) -> None:
        self._values[_STOPPING] = 1

    def hurry(self) -> None:
        """Shorten the notice, because a person is waiting."""
        self._values[_HURRIED] = 1

    @property
    def is_stopping(self) -> bool:
        return bool(self._values[_STOPPING])

    @property
    def is_hurried(self) -> bool:
        return bool(self._values[_HURRIED])

    def set_down(self, server: str, is_down: bool) -> None:
        """Record whether a server that was up has lost all its workers."""
        self._values[_DOWN + _SERVERS.index(server)] = is_down

    def problems(self) -> list[str]:
        """Return the problems for readiness checks: which parts are down."""
        down = [
            server for cell, server in enumerate(_SERVERS, _DOWN) if self._values[cell]
        ]
        return [f"no worker of the {server} is running; see the log" for server in down]

    def notice(self, config: Config) -> float:
        """Return for how long an idle connection may still send a request."""
        notice = min(config.stop_notice, config.stop_timeout / 2)
        return min(notice, SHORT_NOTICE_SECONDS) if self.is_hurried else notice

    def answer_check(self) -> bool:
        """Record a readiness check; return whether this service is ready.

        The check is recorded first, so that a shutdown that begins at this moment takes
        it into account.
        """
        self._values[_LAST_CHECK] = time.monotonic()
        return not self.is_stopping

    @property
    def is_watched(self) -> bool:
        """Whether a balancer was recently told that this service is ready."""
        last = self._values[_LAST_CHECK]
        return bool(last) and time.monotonic() - last < _CHECK_SECONDS
