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

_ANY_PORT = "127.0.0.1:0"


@contextmanager
def set_up() -> Iterator[tuple[Config, Listeners]]:
    """Listen on free ports and create a data directory; delete it at the end.

    A setting that is present is kept, so that a test can choose its own addresses.
    """
    with TemporaryDirectory(prefix="readback-", ignore_cleanup_errors=True) as folder:
        for plane in ("API", "OPS", "CABINET"):
            os.environ.setdefault(f"READBACK_{plane}_BIND", _ANY_PORT)
        os.environ.setdefault("READBACK_DATA_DIR", folder)
        os.environ.setdefault("READBACK_WORKERS", "1")
        # The test that started it has ended, and nobody else knows its address.
        os.environ.setdefault("READBACK_STOP_NOTICE", str(SHORT_NOTICE_SECONDS))
        sockets = listeners.open_all(load())
        # Now with the ports that the operating system has chosen.
        # An address may have several sockets.
        api = dict.fromkeys(str(bind_of(listener)) for listener in sockets.api)
        os.environ["READBACK_API_BIND"] = ",".join(api)
        os.environ["READBACK_OPS_BIND"] = str(bind_of(sockets.ops))
        os.environ["READBACK_CABINET_BIND"] = str(bind_of(sockets.cabinet))
        yield load(), sockets
