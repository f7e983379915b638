"""The first start of `readback serve`, which migrates its database."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.commands import environment_with, own_ports
from tests.support.server import started


@contextmanager
def first_start(
    folder: Path, settings: Mapping[str, str]
) -> Iterator[Mapping[str, str]]:
    """Run the service on a new database; yield the environment for commands."""
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(folder / "data"),
            "READBACK_WORKERS": "1",
            **own_ports(),
            **settings,
        }
    )
    out, log = folder / "stdout", folder / "stderr"
    with started([], environment, folder, lambda: "is running" in out.read_text()):
        yield environment
    assert not re.search("Traceback|internal error", log.read_text()), log.read_text()
