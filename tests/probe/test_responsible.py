"""Who has to act: one row for each kind of fault, one column for each path."""

import pytest

from readback.probe.common.responsible import Authority, Path, path_to, who_acts
from readback.probe.common.results import Fault, Fixer
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.context import ProbeContext

TABLE = """
             PROXY    TUNNEL    INTERCEPTED   VERIFIED  THIS_MACHINE  OPEN
NONE         NOBODY   NOBODY    NOBODY        NOBODY    NOBODY        NOBODY
SETTING      YOU      YOU       YOU           YOU       YOU           YOU
NETWORK      NETWORK  NETWORK   NETWORK       NETWORK   NETWORK       NETWORK
PROXY        PROXY    PROXY     PROXY         PROXY     PROXY         PROXY
CONNECTION   PROXY    PROXY     EITHER        EITHER    SHARED        EITHER
CERTIFICATE  PROXY    OPERATOR  INTERCEPTION  OPERATOR  SHARED        EITHER
FILTER       PROXY    OPERATOR  INTERCEPTION  OPERATOR  NETWORK       NETWORK
PATH         PROXY    OPERATOR  INTERCEPTION  OPERATOR  SHARED        EITHER
SERVICE      OPERATOR OPERATOR  OPERATOR      OPERATOR  SHARED        OPERATOR
PROBE        AUTHORS  AUTHORS   AUTHORS       AUTHORS   AUTHORS       AUTHORS
BEYOND       ANYONE   ANYONE    ANYONE        ANYONE    ANYONE        ANYONE
SHARED       SHARED   SHARED    SHARED        SHARED    SHARED        SHARED
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


PATHS = """
             DIRECTLY     HERE          PROXY
NONE         OPEN         THIS_MACHINE  PROXY
PUBLIC       VERIFIED     VERIFIED      TUNNEL
SERVICE      VERIFIED     VERIFIED      TUNNEL
OWN          VERIFIED     VERIFIED      OPEN
PRIVATE      OPEN         THIS_MACHINE  OPEN
INTERCEPTOR  INTERCEPTED  INTERCEPTED   INTERCEPTED
"""
_PLACES, *_AUTHORITIES = (line.split() for line in PATHS.strip().splitlines())
STRETCHES = [
    (Authority[row[0]], place, Path[path])
    for row in _AUTHORITIES
    for place, path in zip(_PLACES, row[1:], strict=True)
]


def test_the_table_has_every_authority() -> None:
    assert len(STRETCHES) == len(Authority) * len(_PLACES)


@pytest.mark.parametrize(("authority", "place", "path"), STRETCHES)
def test_the_path_follows_from_the_authority_and_the_proxy(
    authority: Authority, place: str, path: Path
) -> None:
    has_proxy = place == "PROXY"
    is_here = place == "HERE"
    assert path_to(authority, has_proxy=has_proxy, is_here=is_here) is path


@pytest.mark.parametrize(
    ("host", "has_proxy", "path"),
    [
        ("echo.example", False, Path.OPEN),
        ("localhost", False, Path.THIS_MACHINE),
        ("localhost", True, Path.PROXY),
    ],
)
def test_a_run_knows_its_path(host: str, has_proxy: bool, path: Path) -> None:
    context = ProbeContext(f"http://{host}/v1", Secret(""))
    context.base_url = BaseUrl("http", host, 80, "/v1")
    proxy = Proxy("http", "proxy.example", 3128, "http_proxy") if has_proxy else None
    context.route = Route(context.base_url, proxy)
    assert context.path is path
