"""The resources of the probe's tests: a Readback server, keys, and isolation from this
machine's own set-up.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import httpx

from readback.probe.connection import stores, tcp
from tests.probe.setups import Resources
from tests.support.authority import Authority
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.waiting import wait_until

# Loading the whole list would take each run 40 ms.
FEW_CERTIFICATES = "".join(
    certifi.contents().partition("-----END CERTIFICATE-----")[:2]
)


@contextmanager
def readback_server(folder: Path) -> Iterator[Server]:
    with ephemeral_server(folder, UNLIMITED) as server:
        yield server


def made_in(folder: Path, readback: Server) -> Resources:
    """Return resources whose files are in this folder."""
    return Resources(
        readback, _revoked_key(readback), Authority(folder / "own"), folder
    )


def quiet_this_process(empty: Path) -> None:
    """Permanently hide everything on this machine that would change the results."""
    tcp.ROOT = empty
    stores.certifi.contents = lambda: FEW_CERTIFICATES


def _revoked_key(readback: Server) -> str:
    key = readback.new_key()
    readback.revoke_key(key)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(headers=headers, timeout=60) as client:
        wait_until(
            lambda: client.get(f"{readback.base_url}/models").is_client_error,
            "the key is refused",
        )
    return key
