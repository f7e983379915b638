"""Who has to act: one row for each kind of fault, one column for each path."""

import pytest

from readback.probe.common.responsible import Path, who_acts
from readback.probe.common.results import Fault, Fixer
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.context import ProbeContext

TABLE = """
             PROXY   INTERCEPTED   VERIFIED  THIS_MACHINE  OPEN
NONE         NOBODY  NOBODY        NOBODY    NOBODY        NOBODY
SETTING      YOU     YOU           YOU       YOU           YOU
NETWORK      NETWORK NETWORK       NETWORK   NETWORK       NETWORK
PROXY        PROXY   PROXY         PROXY     PROXY         PROXY
CONNECTION   PROXY   EITHER        EITHER    OPERATOR      EITHER
CERTIFICATE  PROXY   INTERCEPTION  OPERATOR  OPERATOR      OPERATOR
FILTER       PROXY   INTERCEPTION  OPERATOR  NETWORK       NETWORK
PATH         PROXY   INTERCEPTION  OPERATOR  OPERATOR      EITHER
SERVICE      OPERATOR OPERATOR     OPERATOR  OPERATOR      OPERATOR
PROBE        AUTHORS AUTHORS       AUTHORS   AUTHORS       AUTHORS
"""
_HEAD, *_ROWS = (line.split() for line in TABLE.strip().splitlines())
CELLS = [
    (Fault[row[0]], Path[path], Fixer[fixer])
    for row in _ROWS
    for path, fixer in zip(_HEAD, row[1:], strict=True)
]


def test_the_table_has_every_fault_and_every_path() -> None:
    assert len(CELLS) == len(Fault) * len(Path)


@pytest.mark.parametrize(("fault", "path", "fixer"), CELLS)
def test_who_acts_follows_from_the_fault_and_the_path(
    fault: Fault, path: Path, fixer: Fixer
) -> None:
    assert who_acts(fault, path) is fixer


def test_a_program_reads_only_words_that_the_documentation_has() -> None:
    words = {fixer.in_json for fixer in Fixer}
    known = {"you", "network", "operator", "network_or_operator", "authors", None}
    assert words == known


@pytest.mark.parametrize(
    ("host", "has_proxy", "found", "path"),
    [
        ("echo.example", False, {}, Path.OPEN),
        ("localhost", False, {}, Path.THIS_MACHINE),
        ("echo.example", True, {}, Path.PROXY),
        ("localhost", True, {}, Path.PROXY),
        ("echo.example", False, {"is_verified": True}, Path.VERIFIED),
        # A tunnel of a proxy ends at the service, too.
        ("echo.example", True, {"is_verified": True}, Path.VERIFIED),
        ("echo.example", True, {"is_intercepted": True}, Path.INTERCEPTED),
    ],
)
def test_the_path_follows_from_what_the_run_has_found(
    host: str, has_proxy: bool, found: dict[str, bool], path: Path
) -> None:
    context = ProbeContext(f"http://{host}/v1", Secret(""))
    context.base_url = BaseUrl("http", host, 80, "/v1")
    proxy = Proxy("http", "proxy.example", 3128, "http_proxy") if has_proxy else None
    context.route = Route(context.base_url, proxy)
    vars(context).update(found)
    assert context.path is path
