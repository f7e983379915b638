"""What the tests of the probe start from: a Readback server, keys, a quiet machine."""

import os
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

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
VARIABLES = (
    *PROXY_VARIABLES,
    *(name.upper() for name in PROXY_VARIABLES),
    *("READBACK_API_KEY", "KUBERNETES_SERVICE_HOST"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_ENV_PROXY"),
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NETRC"),
    *("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_CUSTOM_HEADERS"),
)
"""The variables that would change the results of the probe."""

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
    """Remove what on this machine would change the results, for good."""
    tcp.ROOT = empty
    stores.certifi.contents = lambda: FEW_CERTIFICATES
    os.environ.update(XDG_CONFIG_HOME=str(empty), GSETTINGS_BACKEND="memory")
    for name in VARIABLES:
        os.environ.pop(name, None)


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
