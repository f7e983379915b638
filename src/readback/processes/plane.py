"""A plane as a service of gunicorn: its application, its master and its workers.

Both planes are built on these classes. They take sockets that are already listening, so
the caller can tell a port in use from every other error. gunicorn's master process
forks the workers, replaces those that die, reloads on SIGHUP, and stops gracefully on
SIGTERM and (with a short notice) on SIGINT.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from typing import Any, cast

from gunicorn import arbiter
from gunicorn.app.base import BaseApplication
from gunicorn.workers.base import Worker

from readback import logs
from readback.config import Config
from readback.processes import listening
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import WORKER_DEATHS, SharedCounters

# gunicorn kills a worker that has not reported for this long.
_WORKER_TIMEOUT_SECONDS = 30


class PlaneApplication(BaseApplication):
    """Configures gunicorn from our settings alone.

    The subclass has the counters that all workers share before the first is forked.
    """

    counters: SharedCounters

    def __init__(
        self,
        config: Config,
        listeners: list[socket.socket],
        margin_seconds: int,
        **settings: Any,
    ) -> None:
        self.config = config
        self.lifecycle = Lifecycle()
        # Whether no other process goes on listening when the plane stops.
        self.owns_listeners = all(map(listening.is_ours, listeners))
        self._settings = {
            # gunicorn closes the descriptors that it receives, so it must own them.
            "bind": [f"fd://{listener.detach()}" for listener in listeners],
            "timeout": _WORKER_TIMEOUT_SECONDS,
            # The margin is how much longer the master waits for a worker than the
            # worker waits for requests.
            "graceful_timeout": int(config.stop_timeout) + margin_seconds,
            "pre_fork": assign_counters_row,
            "child_exit": retire_counters_row,
            "control_socket_disable": True,
            "logconfig_dict": logs.configuration(),
            **settings,
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def serve(self) -> int:
        """Serve until stopped; return the exit code."""
        try:
            master = Arbiter(self)
            # gunicorn would remove the file of a unix socket when it stops, even if
            # systemd or the next server is listening there. With this it leaves that
            # to the process that opened it.
            master.systemd = True
            master.run()
        except SystemExit as exit_:
            return exit_.code if isinstance(exit_.code, int) else 1
        return 0


class Arbiter(arbiter.Arbiter):
    """gunicorn's master, except that it never waits for workers that leave.

    gunicorn's own `reload` returns only when the last old worker has ended. Until then
    no signal is acted on and no dead worker is replaced, and one slow request can make
    that half a minute. Here a reload has two steps: new workers are started; once all
    of them serve, the old ones are told to stop. So connections are accepted at any
    time.
    """

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self._application = app
        self._lifecycle: Lifecycle = app.lifecycle
        self._wants_reload = False
        # By process id: workers that are being replaced, and workers that were told to
        # stop. Each is told once.
        self._old: set[int] = set()
        self._leaving: set[int] = set()

    def reload(self) -> None:
        """Ask for new workers. The main loop calls `manage_workers` after this."""
        self._wants_reload = True

    def stop(self, graceful: bool = True) -> None:
        self._lifecycle.stop()
        super().stop(graceful)

    def handle_int(self) -> None:
        """Stop soon, but as for SIGTERM: Ctrl-C must not cut off a running request."""
        self._lifecycle.hurry()
        raise StopIteration

    def handle_ttin(self) -> None:
        """Do nothing: the memory that workers share is made for a fixed number."""

    handle_ttou = handle_ttin

    def manage_workers(self) -> None:
        """Start and stop workers; called after every signal and every second."""
        self._application.counters.row_of_master().count_log_lines()
        self._leaving &= self.WORKERS.keys()
        self._old &= self.WORKERS.keys()
        # One reload at a time, so that there are never more than two generations of
        # workers, however often SIGHUP arrives.
        if self._wants_reload and not self._old and not self._leaving:
            self._wants_reload = False
            self._old = set(self.WORKERS)
            self.cfg.on_reload(self)
        # Each has a row of counters, and an entry for `created`, that no other uses.
        free = self._application.counters.rows - len(self.WORKERS)
        for _ in range(min(self.num_workers - len(self.staying()), free)):
            self.spawn_worker()
        if all(self._serves(worker.pid) for worker in self.staying()):
            self._dismiss(sorted(self._old))

    def dismissed(self, pid: int) -> bool:
        """Return whether a worker was told to stop."""
        return self._lifecycle.is_stopping or pid in self._leaving

    def staying(self) -> list[Any]:
        """Return the workers that are neither told to stop nor being replaced."""
        pids = self.WORKERS.keys() - self._leaving - self._old
        return [self.WORKERS[pid] for pid in pids]

    def _serves(self, pid: int) -> bool:
        # The file that a worker touches has the time of the clock on the wall until the
        # worker reports for the first time, and then a monotonic time.
        return bool(self.WORKERS[pid].tmp.last_update() <= time.monotonic())

    def _dismiss(self, pids: list[int]) -> None:
        """Tell workers to stop, except those that are starting: they come next time.

        A worker that is starting loses the signal, and would never leave.
        """
        for pid in filter(self._serves, pids):
            self._old.discard(pid)
            self._leaving.add(pid)
            self.kill_worker(pid, signal.SIGTERM)


# Hooks of gunicorn. The application has the counters that all its workers share.


def assign_counters_row(server: Any, worker: Any) -> None:
    """Assign the first row of the counters that no running worker uses."""
    taken = {other.counters_row for other in server.WORKERS.values()}
    worker.counters_row = next(n for n in range(sys.maxsize) if n not in taken)


def retire_counters_row(server: Any, worker: Any) -> None:
    """Clear the row of a worker that has ended; count one that ended by itself."""
    row = server.app.counters.row(worker.counters_row)
    row.retire()
    if not server.dismissed(worker.pid):
        row.add(WORKER_DEATHS)


class PlaneWorker(Worker):
    """What the workers of both planes do alike: they notice that they must stop."""

    # The worker's row in the shared counters, set by the `pre_fork` hook.
    counters_row = 0

    def init_signals(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # Until the event loop runs and takes them over.
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(signal.SIGQUIT, self.handle_quit)
        # Ctrl-C in a terminal reaches the workers, too, but only the master acts on it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGABRT, self.handle_abort)

    def init_process(self) -> None:
        """Serve until told to stop; gunicorn calls this after the fork."""
        try:
            super().init_process()
        finally:
            logs.flush()
            counters = cast(Any, self.app).counters
            counters.row(self.counters_row).count_log_lines()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self._application = cast(PlaneApplication, self.app)
        self._config = self._application.config
        self._lifecycle = self._application.lifecycle
        # gunicorn wraps the sockets.
        self._listeners = [cast(Any, each).sock for each in self.sockets]

    def _handle_sigterm(self) -> None:
        """Set `_stopping` on SIGTERM; call this when the event loop runs."""
        self._stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)

    def _notice_stop(self) -> None:
        """Set `_stopping` if a signal was lost; call this every second."""
        if os.getppid() != self.ppid:  # the master was killed
            self._lifecycle.stop()
        if self._lifecycle.is_stopping or not self.alive:
            self._stopping.set()
