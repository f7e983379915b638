"""Whether the whole service is stopping, and whether load balancers must know first.

A worker that is told to stop cannot know whether other workers take over (a reload) or
the service ends. The manager writes that here before it signals the workers. It also
writes whether the API or the cabinet is down. Workers record when they last answered
a readiness check.
"""

import mmap
import time

from readback.config import Config

# Long enough for a balancer that checks once a minute to miss one check.
_CHECK_SECONDS = 120.0
# The notice after Ctrl-C, when a person is waiting.
SHORT_NOTICE_SECONDS = 0.5
# The cells of the shared memory. Times are monotonic and comparable between processes.
_STOPPING, _HURRIED, _LAST_CHECK, _DOWN = range(4)
# The servers' names in logs and messages. Each server has a cell, the first of them at
# `_DOWN`.
API = "API"
CABINET = "cabinet"
_SERVERS = (API, CABINET)


class Lifecycle:
    """The state of the service, in memory shared by the manager and all workers."""

    def __init__(self) -> None:
        cells = _DOWN + len(_SERVERS)
        self._values = memoryview(mmap.mmap(-1, cells * 8)).cast("d")
        # In Unix time.
        self.started_at = int(time.time())

    def stop(self) -> None:
        self._values[_STOPPING] = 1

    def hurry(self) -> None:
        self._values[_HURRIED] = 1

    @property
    def is_stopping(self) -> bool:
        return bool(self._values[_STOPPING])

    @property
    def is_hurried(self) -> bool:
        return bool(self._values[_HURRIED])

    def set_down(self, server: str, is_down: bool) -> None:
        self._values[_DOWN + _SERVERS.index(server)] = is_down

    def problems(self) -> list[str]:
        """Return which parts are down, for readiness checks."""
        down = [
            server for cell, server in enumerate(_SERVERS, _DOWN) if self._values[cell]
        ]
        return [f"no worker of the {server} is running; see the log" for server in down]

    def notice(self, config: Config) -> float:
        """Return for how long clients may still send requests on idle connections."""
        notice = min(config.stop_notice, config.stop_timeout / 2)
        return min(notice, SHORT_NOTICE_SECONDS) if self.is_hurried else notice

    def answer_check(self) -> bool:
        """Record a readiness check; return whether the service is ready.

        The check is recorded first, so that a stop at this moment still gives notice.
        """
        self._values[_LAST_CHECK] = time.monotonic()
        return not self.is_stopping

    @property
    def is_watched(self) -> bool:
        """Whether a readiness check was recently answered."""
        last = self._values[_LAST_CHECK]
        return bool(last) and time.monotonic() - last < _CHECK_SECONDS
