"""The settings of a temporary server.

They are put into the environment, because both planes and every command read their
settings from there and nowhere else.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from readback.cli import listeners
from readback.cli.listeners import Listeners, bind_of
from readback.cli.settings import load
from readback.config import Config
from readback.lifecycle import SHORT_NOTICE_SECONDS


@contextmanager
def set_up() -> Iterator[tuple[Config, Listeners]]:
    """Listen on free ports and create a data directory; delete it at the end."""
    with TemporaryDirectory(prefix="readback-", ignore_cleanup_errors=True) as folder:
        sockets = listeners.open_on_free_ports()
        os.environ["READBACK_API_BIND"] = str(bind_of(sockets.api[0]))
        os.environ["READBACK_OPS_BIND"] = str(bind_of(sockets.ops))
        os.environ["READBACK_CABINET_BIND"] = str(bind_of(sockets.cabinet))
        # Without these, the addresses shown are derived from the ports.
        os.environ.pop("READBACK_PUBLIC_BASE_URL", None)
        os.environ.pop("READBACK_CABINET_URL", None)
        os.environ.setdefault("READBACK_DATA_DIR", folder)
        os.environ.setdefault("READBACK_WORKERS", "1")
        # The test that started it has ended, and nobody else knows its address.
        os.environ.setdefault("READBACK_STOP_NOTICE", str(SHORT_NOTICE_SECONDS))
        yield load(), sockets
