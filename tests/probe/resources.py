"""Resources of the probe's tests: a server, keys, and isolation from this machine."""

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

# Only the first of certifi's certificates: loading them all takes 40 ms per run.
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
    """Hide signs of a container, and all but one public certificate, from the probe."""
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
