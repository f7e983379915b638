"""Options, order and environment of the test run, and its PostgreSQL.

Other fixtures belong to the folders that use them. Code that several folders share is
in tests/support.
"""

import gc
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

if TYPE_CHECKING:
    from tests.scheduling import OneBrowser
    from tests.support.postgres import Postgres

_HERE = Path(__file__).parent
# Files that take more than fifteen seconds run first, starting with the longest.
_LONG = (
    "journeys/",
    "probe/test_misfortunes.py",
    "probe/test_hostile_peers.py",
    "cli/test_serve.py",
    "faults/test_planned_stops.py",
    "faults/test_reload.py",
    "faults/test_workers.py",
    "faults/database/test_postgresql_outages.py",
    "scale/test_statements.py",
    "cabinet/accounts/test_single_sign_on.py",
    "cli/test_backup.py",
    "cli/test_backup_formats.py",
    "probe/test_command.py",
    "pytest_plugin/test_plugin.py",
)
# These files are fast, because they start no servers; they run last.
_SHORT = ("unit/", "wire/", "conformance/")
assert all((_HERE / name).exists() for name in (*_LONG, *_SHORT))

# Failing assertions in these modules show their values.
pytest.register_assert_rewrite("tests.support", "tests.cli.program")

# There is no deadline, because a machine may be busy. The examples depend only on the
# run's seed: not on earlier failures, and not on constants in imported modules.
providers.is_local_module_file = lambda path: False
hypothesis.settings.register_profile(
    "readback",
    deadline=None,
    database=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.data_too_large,
    ],
)
hypothesis.settings.load_profile("readback")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the environment of all processes, and the seed for examples."""
    from tests.support import parse_every_head  # noqa: F401, which acts when imported
    from tests.support.environment import make_clean

    make_clean()
    seed = config.getoption("randomly_seed", None)
    if isinstance(seed, int):
        hypothesis.core.global_force_seed = seed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "OneBrowser | None":
    from tests.scheduling import OneBrowser

    return OneBrowser(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("readback", "conformance of a running server")
    group.addoption("--base-url", help="its address, ending in /v1")
    group.addoption("--api-key", help="a key that it accepts")
    group.addoption("--revoked-key", help="one of its keys that is revoked")
    group.addoption("--unused-key", help="another key that it accepts")
    group.addoption("--expired-key", help="one of its keys that has expired")
    group.addoption(
        "--ignore-headers",
        action="store_true",
        help="compare status and body only, for a server that explains nothing",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Do not collect garbage while modules are imported, which saves four seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End with fast files, so that all processes end at about the same time.

    Otherwise the order stays random.
    """
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    path = item.path.relative_to(_HERE).as_posix()
    for rank, beginning in enumerate(_LONG):
        if path.startswith(beginning):
            return rank
    return len(_LONG) + path.startswith(_SHORT)


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[Postgres]":
    """One server for all tests in this process; a test that breaks its server starts
    its own.
    """
    # Imported here, so that its assertions are rewritten.
    from tests.support.postgres import postgres

    with postgres() as server:
        yield server
