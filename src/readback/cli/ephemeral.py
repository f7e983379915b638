"""The settings of a server that leaves nothing behind.

They are put into the environment, where both planes and every command look for
settings: there is no second way for a setting to arrive.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from readback.cli import listeners
from readback.cli.listeners import Listeners, bound_to
from readback.cli.settings import load
from readback.config import Config


@contextmanager
def prepared() -> Iterator[tuple[Config, Listeners]]:
    """Listen on free ports and give a place for the data; remove it at the end."""
    with TemporaryDirectory(prefix="readback-", ignore_cleanup_errors=True) as place:
        sockets = listeners.at_free_ports()
        os.environ["READBACK_API_BIND"] = str(bound_to(sockets.api[0]))
        os.environ["READBACK_OPS_BIND"] = str(bound_to(sockets.ops))
        os.environ["READBACK_CABINET_BIND"] = str(bound_to(sockets.cabinet))
        # These follow from the ports.
        os.environ.pop("READBACK_PUBLIC_BASE_URL", None)
        os.environ.pop("READBACK_CABINET_URL", None)
        os.environ.setdefault("READBACK_DATA_DIR", place)
        os.environ.setdefault("READBACK_WORKERS", "1")
        yield load(), sockets
