"""Run pytest as the plugin's users do: in its own process, with a new project."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support.commands import environment_with
from tests.support.waiting import wait_until

SECONDS = 90.0


@dataclass
class Run:
    """A pytest run, whose processes share a TMPDIR that no other process has."""

    process: subprocess.Popen[bytes]
    folder: Path
    temporary: Path

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    def wait_for(self, name: str) -> None:
        """Wait until a test has written a file."""
        path = self.folder / name

        def done() -> bool:
            assert self.process.poll() is None, self.output
            return path.exists()

        wait_until(done, lambda: f"{path} exists: {self.output}", SECONDS)

    def processes(self) -> list[psutil.Process]:
        """Return every process of the run, even if its parent has ended."""
        return [each for each in psutil.process_iter() if _has(each, self.temporary)]

    def wait_until_gone(self) -> None:
        wait_until(lambda: not self.processes(), lambda: f"{self.processes()}", SECONDS)

    def left_behind(self) -> list[Path]:
        """Return what is left of the server in the temporary directory."""
        found = self.temporary.rglob("readback*")
        return [path for path in found if path.exists()]

    def end(self) -> None:
        """Kill pytest if it still runs; its servers stop by themselves."""
        self.process.kill()
        self.process.wait()
        self.wait_until_gone()


@contextmanager
def running(folder: Path, files: dict[str, str], *options: str) -> Iterator[Run]:
    """Run pytest in a folder with these files; it loads no other plugin."""
    temporary = folder / "temporary files"
    temporary.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    settings = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TMPDIR": str(temporary),
        # Settings of the tested project, which the plugin must not pass on.
        "READBACK_DATABASE_URL": "postgresql://127.0.0.1:9/production",
        "DJANGO_SETTINGS_MODULE": "project.settings",
    }
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "readback", *options],
            env=environment_with(settings),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    run = Run(process, folder, temporary)
    try:
        yield run
    finally:
        run.end()


def _has(process: psutil.Process, temporary: Path) -> bool:
    try:
        return bool(process.environ().get("TMPDIR") == str(temporary))
    except psutil.Error:  # it has ended, or belongs to another user
        return False
