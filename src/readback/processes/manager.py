"""The manager starts, replaces, reloads and stops the workers of the API and cabinet.

It handles no requests, and imports neither the API nor the cabinet. One loop handles
signals and looks after the workers.

    a worker is   it has reported   if it ends by itself   it is told to stop
    ------------  ----------------  ---------------------  -----------------------------
    starting      never             is replaced            only if the service stops
    serving       within 30 s       is replaced            by a reload, or by a stop
    hanging       longer ago        is killed, replaced    by a reload, or by a stop
    leaving       –                 is not replaced        has been told

Until both the API and the cabinet have been up, a worker that ends by itself stops the
whole service, so that an error at startup is reported once.
"""

import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readback.processes.child import CANNOT_START, SIGNALS, fork
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import REPORTED_AT, WORKER_DEATHS

if TYPE_CHECKING:  # commands other than `serve` must not load the event loop
    from readback.processes.worker import Server

log = logging.getLogger("readback.processes")

_ROUND_SECONDS = 0.5
# The interval between rounds while a worker starts.
_SHORT_ROUND_SECONDS = 0.02
# A worker that has not reported for this long counts as hanging.
_SILENT_SECONDS = 30.0
# GNU timeout sends its signal twice, to the process and to its process group.
_SAME_SIGNAL_SECONDS = 0.5
# If no worker has ended for this long, the next one that ends is replaced at once.
# Otherwise there is a pause before the replacement, which doubles every time.
_STABLE_SECONDS = 10.0
_SHORTEST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 30.0


@dataclass(eq=False)
class WorkerProcess:
    server: "Server"
    row: int
    pid: int
    started_at: float
    # When this worker was told to stop, or 0.
    leaving_since: float = 0.0
    is_killed: bool = False

    def __post_init__(self) -> None:
        self.counters = self.server.counters.row(self.row)

    @property
    def reported_at(self) -> float:
        """When this worker last reported; 0 before it is up."""
        return self.counters.get(REPORTED_AT) / 1000

    def is_overdue(self) -> bool:
        """Return whether this worker hangs or takes too long to stop."""
        now = time.monotonic()
        if self.leaving_since:
            return now - self.leaving_since > self.server.stop_seconds
        return now - max(self.reported_at, self.started_at) > _SILENT_SECONDS

    def tell_to_stop(self) -> None:
        self.leaving_since = time.monotonic()
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self.is_killed = True
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class WorkerGroup:
    """The workers of the API, or those of the cabinet."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.workers: list[WorkerProcess] = []
        self.has_served = False
        # The rows form two halves, and each reload switches to the other half, so that
        # no two workers share a row.
        self._first_row = 0
        self._pause = 0.0
        self._next_start = 0.0

    def current(self) -> list[WorkerProcess]:
        """Return the workers that are not being replaced by a reload."""
        rows = range(self._first_row, self._first_row + self.server.workers)
        return [worker for worker in self.workers if worker.row in rows]

    def is_serving(self) -> bool:
        return any(worker.reported_at for worker in self.workers)

    def reload(self) -> None:
        self._first_row = self.server.workers - self._first_row

    def missing_rows(self) -> list[int]:
        """Return the rows of the workers that have to be started now."""
        if time.monotonic() < self._next_start:
            return []
        # The first worker starts alone, so that an error is reported only once.
        wanted = self.server.workers if self.has_served else 1
        taken = {worker.row for worker in self.workers}
        rows = range(self._first_row, self._first_row + wanted)
        return [row for row in rows if row not in taken]

    def dismiss_old(self) -> None:
        """Once all new workers are up, stop each old one that is up."""
        current = self.current()
        if sum(bool(each.reported_at) for each in current) < self.server.workers:
            return
        for worker in self.workers:
            is_told = worker in current or worker.leaving_since
            if worker.reported_at and not is_told:
                worker.tell_to_stop()

    def kill_overdue(self) -> None:
        if self.server.prepare_service and not self.has_served:
            return  # a migration may take any amount of time
        for worker in self.workers:
            if worker.is_overdue() and not worker.is_killed:
                name = self.server.name
                pid = worker.pid
                log.error("A worker of the %s (process %d) hangs; killed.", name, pid)
                worker.kill()

    def postpone(self) -> float:
        """Choose when the next worker starts; return the pause until then."""
        now = time.monotonic()
        pause = max(_SHORTEST_PAUSE_SECONDS, 2 * self._pause)
        was_stable = now - self._next_start > _STABLE_SECONDS
        self._pause = 0.0 if was_stable else min(pause, _LONGEST_PAUSE_SECONDS)
        self._next_start = now + self._pause
        return self._pause

    def idle_seconds(self) -> float:
        """Return how long to wait for a signal before the next round."""
        if not all(worker.reported_at for worker in self.workers):
            return _SHORT_ROUND_SECONDS
        pause = self._next_start - time.monotonic()
        return min(pause, _ROUND_SECONDS) if pause > 0 else _ROUND_SECONDS


class Manager:
    """Runs all processes of a service, and owns its listening sockets."""

    def __init__(self, listeners: list[socket.socket]) -> None:
        self.lifecycle = Lifecycle()
        self._listeners = listeners
        self._groups: list[WorkerGroup] = []
        self._wants_reload = False
        # When the workers were told to stop, or 0.
        self._stopping_since = 0.0
        self._exit_code = 0
        self._signals: list[int] = []
        # For each signal, Python writes a byte to this pipe, which ends `select`.
        self._wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda number, _: self._signals.append(number))

    def add(self, server: "Server") -> None:
        """Add a server; its first worker starts once all earlier servers are up."""
        self._groups.append(WorkerGroup(server))
        self._look_after_workers()

    def wait_until_ready(self) -> bool:
        """Return True once all servers are up, or False if the service stops first."""
        self._run_until(lambda: self._is_ready() or self._has_ended())
        return not self._stopping_since

    def wait(self) -> int:
        self._run_until(self._has_ended)
        return self._exit_code

    def stop(self) -> None:
        """Tell all workers to stop, and start no more."""
        if self._stopping_since:
            return
        self._stopping_since = time.monotonic()
        self.lifecycle.stop()
        # Otherwise the kernel would accept connections that no one answers.
        for listener in self._listeners:
            listener.close()
        for worker in self._workers():
            worker.tell_to_stop()

    def _is_ready(self) -> bool:
        return all(group.has_served for group in self._groups)

    def _has_ended(self) -> bool:
        return bool(self._stopping_since) and not self._workers()

    def _workers(self) -> list[WorkerProcess]:
        return [worker for group in self._groups for worker in group.workers]

    def _run_until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            seconds = min(group.idle_seconds() for group in self._groups)
            if select.select([self._wakeup], [], [], seconds)[0]:
                os.read(self._wakeup, 4096)
            while self._signals:
                self._handle(self._signals.pop(0))
            self._reap()
            self._look_after_workers()

    def _handle(self, number: int) -> None:
        if number == signal.SIGHUP:
            self._wants_reload = True
        elif number in (signal.SIGTERM, signal.SIGINT):
            if not self._stopping_since:
                if number == signal.SIGINT:  # a person is waiting
                    self.lifecycle.hurry()
                self.stop()
            elif time.monotonic() - self._stopping_since > _SAME_SIGNAL_SECONDS:
                self._exit_code = 128 + signal.SIGKILL
                for worker in self._workers():
                    worker.kill()

    def _reap(self) -> None:
        running = {w.pid: (g, w) for g in self._groups for w in g.workers}
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid in running:  # otherwise an orphan, which process 1 inherits
                    self._note_end(*running[pid], os.waitstatus_to_exitcode(status))

    def _note_end(self, group: WorkerGroup, worker: WorkerProcess, code: int) -> None:
        group.workers.remove(worker)
        worker.counters.retire()
        if worker.leaving_since:
            return
        worker.counters.add(WORKER_DEATHS)
        reason = f"exited with code {code}" if code >= 0 else f"got signal {-code}"
        if self._is_ready():
            pause = group.postpone()
            log.error(
                "A worker of the %s (process %d) %s; another starts in %.3g seconds.",
                *(group.server.name, worker.pid, reason, pause),
            )
            return
        if code != CANNOT_START:  # otherwise the worker has said why
            line = f"The {group.server.name} {reason}; stopping Readback."
            print(line, file=sys.stderr)
        # As in a shell, the exit code of a process killed by signal 9 is 137.
        self._exit_code = 128 - code if code < 0 else CANNOT_START
        self.stop()

    def _look_after_workers(self) -> None:
        for group in self._groups:
            group.kill_overdue()
        if self._stopping_since:
            return
        self._reload_if_due()
        for group in self._groups:
            group.has_served = group.has_served or group.is_serving()
            for row in group.missing_rows():
                self._start(group, row)
            group.dismiss_old()
            is_down = group.has_served and not group.is_serving()
            self.lifecycle.set_down(group.server.name, is_down)
            if not group.has_served:
                break  # the next server needs what this one prepares

    def _reload_if_due(self) -> None:
        """Begin a reload if one is wanted and no other is under way."""
        is_over = all(group.workers == group.current() for group in self._groups)
        if self._wants_reload and self._is_ready() and is_over:
            self._wants_reload = False
            for group in self._groups:
                group.reload()

    def _start(self, group: WorkerGroup, row: int) -> None:
        now = time.monotonic()
        try:
            pid = fork(lambda: self._run_worker(group, row))
        except OSError as error:  # out of memory, or too many processes
            if not self._is_ready():
                raise
            name = group.server.name
            reason = error.strerror
            log.error("No worker of the %s can be started: %s.", name, reason)
            group.postpone()
            return
        group.workers.append(WorkerProcess(group.server, row, pid, now))

    def _run_worker(self, group: WorkerGroup, row: int) -> None:
        for listener in self._listeners:
            if listener not in group.server.listeners:
                listener.close()
        if not group.has_served and group.server.prepare_service:
            group.server.prepare_service()
        group.server.make_worker(group.server, row).run()
