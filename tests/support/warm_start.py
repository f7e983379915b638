"""Run commands of the product in processes that do not import Django again.

Each command is a process of its own, forked from one that has imported Django and
nothing that depends on a setting. So it has its own environment, folder, umask, streams
and exit code. It needs 0.12 s of CPU time instead of 0.5 s, most of which was imports.

For commands that end by themselves. Servers, and commands whose start is what the test
is about, are started as an operator starts them.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

_IMPORTED = [
    "readback.cli",
    "readback.client_address",
    "readback.programs",
    "argon2",
    "django.contrib.admin",
    "django.contrib.auth.hashers",
    "django.contrib.auth.password_validation",
    "django.contrib.sessions.backends.base",
    "django.contrib.staticfiles.finders",
    "django.core.management",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "django.template.defaulttags",
    "django.urls",
    "django.utils.translation.trans_real",
]
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(_IMPORTED)


def run_warm(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: str,
    folder: Path | None,
    seconds: float,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m readback` with these arguments to its end, without a terminal."""
    with TemporaryDirectory(prefix="command-") as place:
        streams = [Path(place, name) for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin, encoding="utf-8")
        inherited = (dict(environment), folder or Path.cwd(), _umask())
        process = _forks.Process(
            target=_readback, args=(list(arguments), *inherited, streams)
        )
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), seconds)
        out, err = (path.read_text(encoding="utf-8") for path in streams[1:])
        return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def _umask() -> int:
    os.umask(mask := os.umask(0o077))
    return mask


def _readback(
    arguments: list[str],
    environment: dict[str, str],
    folder: Path,
    umask: int,
    streams: list[Path],
) -> None:
    """Become `python -m readback`; called in the new process."""
    for descriptor, path in enumerate(streams):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.umask(umask)
    sys.argv = ["readback", *arguments]
    try:
        runpy.run_module("readback", run_name="__main__", alter_sys=True)
    finally:
        # multiprocessing ends a process without closing what is open, and SQLite leaves
        # its log to the last connection that is closed.
        from django.conf import settings
        from django.db import connections

        if settings.configured:
            connections.close_all()
