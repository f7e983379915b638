"""Run the product in processes that do not import its libraries again.

Each command is a process of its own, forked from one that has imported Django, uvloop
and so on, but nothing that depends on a setting. It has its own environment, folder,
umask, limits, streams, session and exit code, and takes half as much CPU time.

These processes hash passwords with less memory, because a hash would take 0.3 s; a test
of the cabinet checks the real cost. Tests of the start itself run `python -m readback`.
"""

import gc
import multiprocessing
import multiprocessing.util
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Modules that can be imported before the settings are read, unlike models and pages.
_IMPORTED = [
    "readback.api.server",
    "readback.cabinet.server",
    "readback.cli.serve",
    "readback.probe.runner",
    "argon2",
    "django.contrib.admin",
    "django.contrib.auth.hashers",
    "django.contrib.sessions.backends.db",
    "django.core.wsgi",
    "django.db.backends.postgresql.base",
    "django.db.migrations.executor",
    "django.middleware.common",
    "django.middleware.locale",
    "django.middleware.security",
    "django.template.defaulttags",
    "fido2.server",
    "tests.support.parse_every_head",
    "whitenoise.middleware",
]
_forks = multiprocessing.get_context("forkserver")
# Choose the socket's folder now: a test may set TMPDIR to a path that is too long.
multiprocessing.util.get_temp_dir()
_forks.set_forkserver_preload(_IMPORTED)


@dataclass(frozen=True)
class _Surroundings:
    """Everything that a new process would inherit, and its standard streams."""

    environment: dict[str, str]
    folder: Path
    umask: int
    descriptors: tuple[int, int]
    streams: Sequence[Path]
    """For standard input, output and error; `/dev/null` if there is none."""

    @classmethod
    def here(
        cls,
        environment: Mapping[str, str],
        folder: Path | None,
        streams: Sequence[Path],
    ) -> "_Surroundings":
        os.umask(umask := os.umask(0o077))
        return cls(
            dict(environment),
            folder or Path.cwd(),
            umask,
            resource.getrlimit(resource.RLIMIT_NOFILE),
            streams,
        )

    def enter(self) -> None:
        """Apply everything to the current process."""
        for descriptor, path in enumerate(self.streams):
            # Append, because output and errors may go to the same file.
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_APPEND
            opened = os.open(path, flags)
            os.dup2(opened, descriptor)
            os.close(opened)
        # The stream objects of the forking process belong to other files.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(self.environment)
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
        os.chdir(self.folder)
        os.umask(self.umask)
        resource.setrlimit(resource.RLIMIT_NOFILE, self.descriptors)


class WarmProcess:
    """`python -m readback` in its own session; used like `subprocess.Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdout: Path,
        stderr: Path,
        stdin: Path = Path(os.devnull),
        folder: Path | None = None,
    ) -> None:
        self.args = list(arguments)
        for path in (stdout, stderr):
            # Opening a terminal could make it the controlling terminal of this process.
            if not path.is_char_device():
                path.write_bytes(b"")
        surroundings = _Surroundings.here(environment, folder, (stdin, stdout, stderr))
        self._process = _forks.Process(
            target=_become_readback, args=(self.args, surroundings)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        # The exit code arrives a moment after the process has ended.
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_warm(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: str,
    folder: Path | None,
    seconds: float,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m readback` to completion with these arguments and no terminal."""
    with tempfile.TemporaryDirectory(prefix="command-") as place:
        entered, out, err = (Path(place, name) for name in ("in", "out", "err"))
        entered.write_text(stdin, encoding="utf-8")
        process = WarmProcess(
            arguments,
            environment,
            stdin=entered,
            stdout=out,
            stderr=err,
            folder=folder,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        output = [path.read_text(encoding="utf-8") for path in (out, err)]
        return subprocess.CompletedProcess(arguments, code, *output)


def _become_readback(arguments: list[str], surroundings: _Surroundings) -> None:
    """Turn the current process into `python -m readback`."""
    # Otherwise collecting garbage would copy all imported modules to this process.
    gc.freeze()
    os.setsid()
    # End this process when the forking process ends, which it does as soon as the tests
    # end.
    from readback import logs
    from readback.processes.child import stop_with_parent

    stop_with_parent()
    surroundings.enter()
    tempfile.tempdir = None  # TMPDIR may differ from the forking process's
    _hash_quickly()
    sys.argv = ["readback", *arguments]
    try:
        runpy.run_module("readback", run_name="__main__", alter_sys=True)
    finally:
        # multiprocessing ends a process without running `atexit` functions or closing
        # connections: SQLite removes its log only when the last one is closed.
        logs.flush()
        if django_conf := sys.modules.get("django.conf"):
            from django.db import connections

            if django_conf.settings.configured:
                connections.close_all()


def _hash_quickly() -> None:
    from readback.cabinet.accounts.passwords import Argon2Hasher

    Argon2Hasher.memory_cost = 1024
