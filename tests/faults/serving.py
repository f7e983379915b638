"""`readback serve` on addresses that the test chooses, with a key of its own."""

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import (
    environment_with,
    free_port,
    run_readback,
    start_server,
)
from tests.support.waiting import PATIENCE, wait_until

EMAIL = "alice@example.org"


@dataclass(frozen=True)
class Running:
    """A running server."""

    key: str
    settings: Mapping[str, str]

    @property
    def api_address(self) -> tuple[str, int]:
        host, port = self.settings["READBACK_API_BIND"].rsplit(":", 1)
        return host, int(port)


@contextmanager
def running(folder: Path, settings: Mapping[str, str]) -> Iterator[Running]:
    """Serve both planes on a new database; at the end expect exit code 0."""
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(folder / "data"),
            "READBACK_WORKERS": "1",
            "READBACK_CABINET_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_OPS_BIND": f"127.0.0.1:{free_port()}",
            **settings,
        }
    )
    out = folder / "output"
    process = start_server([], environment, stdout=out, stderr=out)
    try:
        wait_until(
            lambda: "is running" in out.read_text() or process.poll() is not None,
            "the server is ready",
        )
        assert process.poll() is None, out.read_text()
        yield Running(_new_key(environment), settings)
    finally:
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(PATIENCE)
    assert exit_code == 0, out.read_text()
    assert not re.search("Traceback|internal error", out.read_text()), out.read_text()


def _new_key(environment: Mapping[str, str]) -> str:
    run_readback(environment, "account", "create", EMAIL, "--confirmed")
    created = run_readback(environment, "key", "create", EMAIL, "--name", "faults")
    return created.stdout.strip()
