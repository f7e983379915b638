"""Runs a command in a pseudo-terminal, for tests of what a user types and sees."""

import os
import pty
import select
import time
from contextlib import suppress

TIMEOUT = 60.0


class Terminal:
    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.pid, self._line = pty.fork()
        if self.pid == 0:
            colors = {"TERM": "xterm-256color", "COLUMNS": "100"}
            os.execve(command[0], command, environment | colors)
        self._received = b""

    @property
    def shown(self) -> str:
        return self._received.decode(errors="replace")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while text not in self.shown and time.monotonic() < deadline:
            if not self._read(deadline - time.monotonic()):
                break
        assert text in self.shown, self.shown

    def type(self, text: str) -> None:
        self.send(text.encode())

    def send(self, data: bytes) -> None:
        os.write(self._line, data)

    def exit_code(self) -> int:
        while self._read(TIMEOUT):
            pass
        os.close(self._line)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, seconds: float) -> bool:
        if not select.select([self._line], [], [], seconds)[0]:
            return False
        data = b""
        # On Linux, reading from the terminal of an exited process raises an error.
        with suppress(OSError):
            data = os.read(self._line, 65536)
        self._received += data
        return bool(data)
