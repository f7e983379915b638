"""gunicorn's master process, except that it never waits for workers that leave.

gunicorn's own `reload` returns only when the last old worker has ended. Until then no
signal is acted on and no dead worker is replaced, and one slow request can make that
half a minute. Here the master only remembers who leaves. Both planes use this class.
"""

import signal
import time
from typing import Any

from gunicorn import arbiter


class Arbiter(arbiter.Arbiter):
    """Keeps the right number of workers beside those that leave.

    A reload has two steps: new workers are started; once all of them serve, the old
    ones are told to stop. So connections are accepted at any time.
    """

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self._wants_reload = False
        # By process id: workers that are being replaced, and workers that were told to
        # stop. Each is told once.
        self._old: set[int] = set()
        self._leaving: set[int] = set()

    def reload(self) -> None:
        """Ask for new workers. The main loop calls `manage_workers` after this."""
        self._wants_reload = True

    def handle_int(self) -> None:
        """Stop as for SIGTERM: Ctrl-C must not cut off a running request."""
        raise StopIteration

    def manage_workers(self) -> None:
        """Start and stop workers; called after every signal and every second."""
        self._leaving &= self.WORKERS.keys()
        self._old &= self.WORKERS.keys()
        # One reload at a time, so that there are never more than two generations of
        # workers, however often SIGHUP arrives.
        if self._wants_reload and not self._old and not self._leaving:
            self._wants_reload = False
            self._old = set(self.WORKERS)
            self.cfg.on_reload(self)
        current = self._current()
        for _ in range(self.num_workers - len(current)):
            self.spawn_worker()
        surplus = len(current) - self.num_workers
        self._dismiss(current[: max(0, surplus)])
        if all(self._serves(pid) for pid in self._current()):
            self._dismiss(sorted(self._old))
            self._old.clear()

    def _current(self) -> list[int]:
        """Return the workers that stay, the oldest first."""
        pids = self.WORKERS.keys() - self._leaving - self._old
        return sorted(pids, key=lambda pid: int(self.WORKERS[pid].age))

    def _serves(self, pid: int) -> bool:
        # The file that a worker touches has the time of the clock on the wall until the
        # worker reports for the first time, and then a monotonic time.
        return bool(self.WORKERS[pid].tmp.last_update() <= time.monotonic())

    def _dismiss(self, pids: list[int]) -> None:
        for pid in pids:
            self._leaving.add(pid)
            self.kill_worker(pid, signal.SIGTERM)
