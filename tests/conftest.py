"""Options and order of the whole test run, and its PostgreSQL.

Other fixtures belong to the folder that uses them; code that several folders share is
in tests/support.
"""

import gc
from collections.abc import Generator, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from tests.quick import is_quick

if TYPE_CHECKING:
    from tests.scheduling import FewBrowsers
    from tests.support.postgres import Postgres

_HERE = Path(__file__).parent
# Folders with files that take a minute, the longest first.
_LONG = ("journeys", "scale", "cabinet", "cli")
# Its tests also take long, but mostly wait: for an outage to end, for a time-out.
_WAITING = "faults"

# So that a failing assertion in a helper shows its values.
pytest.register_assert_rewrite("tests.support")

# A busy machine is no error, so there is no deadline. The examples depend on the seed
# of the run alone: neither on what a machine remembers of earlier failures nor, by the
# constants in their code, on which modules this process has imported.
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
    """Prepare what all processes share: the folder, and the seed of the examples."""
    from tests.summary import CpuClock, Summary
    from tests.support.made_once import shared_folder

    shared_folder()
    if config.getoption("--cpu"):
        config.pluginmanager.register(CpuClock(), "readback-cpu")
    # Only the first process sees the reports of all.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(config), "readback-summary")
    seed = config.getoption("randomly_seed", None)
    if isinstance(seed, int):
        hypothesis.core.global_force_seed = seed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Any
) -> "FewBrowsers | None":
    from tests.scheduling import FewBrowsers

    return FewBrowsers(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("readback", "conformance of a running server")
    group.addoption("--base-url", help="its address, ending in /v1")
    group.addoption("--api-key", help="a key that it accepts")
    group.addoption("--revoked-key", help="one of its keys that is revoked")
    group.addoption("--expired-key", help="one of its keys that has expired")
    run = parser.getgroup("readback run", "what to run and to show")
    run.addoption("--quick", action="store_true", help="run only what needs no server")
    run.addoption(
        "--cpu", action="store_true", help="show the CPU time of each folder of tests"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Do not look for garbage while modules are imported; almost nothing is."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Begin with the files that take long, so that processes end together.

    Files that wait alternate with files that work, so that no core is idle. Within a
    folder the order stays random.
    """
    if config.getoption("--quick"):
        items[:] = [item for item in items if is_quick(item)]
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    rank = {folder: number for number, folder in enumerate(_LONG)}
    ordered = sorted(files, key=lambda file: rank.get(_folder_of(file), len(_LONG)))
    waiting = [file for file in ordered if _folder_of(file) == _WAITING]
    working = [file for file in ordered if _folder_of(file) != _WAITING]
    pairs = zip_longest(working, waiting)
    items[:] = [item for pair in pairs for file in pair if file for item in files[file]]


def _folder_of(file: Path) -> str:
    return file.relative_to(_HERE).parts[0]


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[Postgres]":
    """One server for all tests of this process, except those that break theirs."""
    # Imported here, because only now are the assertions in it rewritten.
    from tests.support.postgres import postgres

    with postgres() as server:
        yield server
