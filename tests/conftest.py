"""Options, order and environment of the whole test run, and its PostgreSQL.

Other fixtures belong to the folder that uses them; code that several folders share is
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
# These begin first, so that no long file is left at the end: files that take more than
# fifteen seconds, the longest first, then folders whose files start servers.
_LONG = (
    "journeys/",
    "probe/test_misfortunes.py",
    "probe/test_hostile_peers.py",
    "cli/test_serve.py",
    "cabinet/accounts/test_single_sign_on.py",
    "cli/test_backup.py",
    "cli/test_backup_formats.py",
    "probe/test_command.py",
    "scale/",
    "cabinet/",
    "cli/",
    "clients/",
    "probe/",
    "house/",
)
# These also take long, but mostly wait for an outage to end or for a time-out.
_WAITING = (
    "faults/test_created.py",
    "faults/database/test_postgresql_outages.py",
    "faults/",
    "pytest_plugin/test_plugin.py",
    "probe/test_late_answers.py",
    "scale/test_roles.py",
    "clients/test_table_of_programs.py",
    "wire/test_tls.py",
    "probe/test_namespace.py",
    "probe/test_interruption.py",
    "conformance/test_rates.py",
    "cli/test_wait.py",
    "cli/test_worker_deaths.py",
)

# So that a failing assertion in a helper shows its values.
pytest.register_assert_rewrite("tests.support", "tests.cli.program")

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
    """Prepare what all processes share: the environment, and the seed of examples."""
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
    """Do not collect garbage while modules are imported: there is hardly any."""
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

    Files that wait are spread among files that work, so that no core is idle. Otherwise
    the order stays random.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    ranks = {file: _rank(file, _WAITING) for file in files}
    waiting = sorted(
        (file for file in files if ranks[file] < len(_WAITING)), key=ranks.get
    )
    working = [file for file in files if ranks[file] == len(_WAITING)]
    working.sort(key=lambda file: _rank(file, _LONG))
    # The files at the end are short, so this is most of the time.
    distance = 0.6 * len(working) / max(1, len(waiting))
    places = {file: float(number) for number, file in enumerate(working)}
    places |= {file: number * distance for number, file in enumerate(waiting)}
    items[:] = [item for file in sorted(places, key=places.get) for item in files[file]]


def _rank(file: Path, beginnings: tuple[str, ...]) -> int:
    """Return the number of the first of these with which its path begins."""
    path = file.relative_to(_HERE).as_posix()
    found = (n for n, start in enumerate(beginnings) if path.startswith(start))
    return next(found, len(beginnings))


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[Postgres]":
    """One server for all tests of this process, except those that break theirs."""
    # Imported here, because only now are the assertions in it rewritten.
    from tests.support.postgres import postgres

    with postgres() as server:
        yield server
