"""Imports point one way: cli → api | cabinet | probe | pytest_plugin → shared facts.

`processes` and `http` are below the API and the cabinet; `http` imports nothing else of
the product. `LEVELS` gives the order within each part. Imports inside functions also
count.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.commands import environment_with, run_readback
from tests.support.files import imports_of

PACKAGE = Path(__file__).parents[2] / "src" / "readback"
SHARED_FACTS = {
    "readback.client_address",
    "readback.config",
    "readback.contract",
    "readback.differences",
    "readback.http_client",
    "readback.keys",
    "readback.logs",
    "readback.programs",
    "readback.rehearsal",
    "readback.setting_values",
}
# The third-party packages that each part imports. Of our own modules, a part imports
# only its own and the shared facts.
PACKAGES = {
    "http": {"httptools"},
    "processes": {"prometheus_client", "uvloop"},
    "api": {"msgspec", "prometheus_client", "psycopg"}
    # To read when a certificate expires.
    | {"cryptography"},
    "cabinet": {"allauth", "django", "markdown_it", "prometheus_client"}
    | {"psycopg"}
    # Packages that allauth uses for second factors and for single sign-on.
    | {"cryptography", "requests"},
    "probe": {"certifi"},
    "pytest_plugin": {"pytest"},
}
SERVER_PACKAGES = {"django", "allauth", "uvloop", "msgspec", "httptools"}
# These may also import `http` and `processes`.
SERVERS = {"api", "cabinet"}
# The cabinet shows the probe's texts as a page.
CATALOGUE = "readback.probe.common.catalogue"
# The folders and modules of each part, from the top down. Each may import only what is
# below it.
LEVELS = {
    "api": [{"server"}, {"ops"}, {"certificate"}, {"endpoints"}]
    + [{"data"}, {"shared"}],
    "cabinet": [
        {"server", "urls", "settings", "middleware", "context_processors"},
        {"apps"},
        {"operators", "pages"},
        {"keys"},
        {"accounts"},
        {"mail"},
        {"serving"},
        {"storage"},
        {"models"},
        {"account_rules"},
    ],
    # The modules run the steps; below them are the folders, the last step of a run
    # first.
    "probe": [{"__main__"}, {"command"}, {"runner"}, {"output"}, {"report"}]
    + [{"service"}, {"connection"}, {"transport"}, {"entered"}, {"common"}],
    # The commands, and below them the modules that they share.
    "cli": [{"wait", "doctor", "backup", "serve", "key", "audit"}, {"account"}]
    + [{"public_addresses"}, {"checks"}, {"startup"}, {"listeners"}]
    + [{"database"}, {"console"}, {"settings"}, {"exit_codes"}],
}
# Files that assemble a part, or that only Django or translators use.
NO_BOXES = {"__init__", "migrations", "locale"}
# Each version of Python has only one of the two added modules.
STANDARD_LIBRARY = sys.stdlib_module_names | {"_sha2", "_sha256"}


def foreign_imports(path: Path) -> set[str]:
    """Return what a file imports from outside the standard library."""
    names = imports_of(path)
    return {name for name in names if name.split(".")[0] not in STANDARD_LIBRARY}


def is_within(name: str, modules: set[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in modules)


def imports_of_folder(folder: Path) -> set[str]:
    """Return what the files in a folder import from outside the standard library."""
    # Snippets are examples for people, not part of the program.
    found = [path for path in folder.rglob("*.py") if path.parent.name != "snippets"]
    return {name for path in found for name in foreign_imports(path)}


@pytest.mark.parametrize("part", PACKAGES)
def test_a_part_imports_only_itself_the_shared_facts_and_its_packages(
    part: str,
) -> None:
    allowed = {f"readback.{part}"}
    if part != "http":
        allowed |= SHARED_FACTS | {"readback.__version__"}
    if part in SERVERS:
        allowed |= {"readback.http", "readback.processes"}
    if part == "cabinet":
        allowed |= {CATALOGUE}
    imported = imports_of_folder(PACKAGE / part)
    others = {name for name in imported if not is_within(name, allowed)}
    assert {name.split(".")[0] for name in others} == PACKAGES[part], others


@pytest.mark.parametrize("fact", sorted(SHARED_FACTS))
def test_the_shared_facts_need_only_the_standard_library(fact: str) -> None:
    path = PACKAGE / f"{fact.removeprefix('readback.')}.py"
    outside = foreign_imports(path)
    assert not {name for name in outside if not is_within(name, SHARED_FACTS)}


def test_the_top_of_the_package_holds_facts_only() -> None:
    modules = {f"readback.{path.stem}" for path in PACKAGE.glob("[a-z]*.py")}
    assert modules == SHARED_FACTS


def modules_of(part: str) -> dict[str, Path]:
    """Return the modules in a part, by full name."""
    return {
        "readback." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in (PACKAGE / part).rglob("*.py")
        if path.parent.name != "snippets"
    }


@pytest.mark.parametrize("part", ["http", "processes", *LEVELS])
def test_no_module_imports_in_a_circle(part: str) -> None:
    names = modules_of(part)
    left = {
        name: modules_among(names, imports_of(path)) for name, path in names.items()
    }
    while ready := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in ready}
    assert not left


@pytest.mark.parametrize("part", LEVELS)
def test_a_part_imports_only_downwards(part: str) -> None:
    names = modules_of(part)
    level_of = {box: n for n, boxes in enumerate(LEVELS[part]) for box in boxes}
    boxes = {box_of(name) for name in names} - NO_BOXES
    assert boxes == level_of.keys()
    wrong = {
        f"{name}: {needed}"
        for name, path in names.items()
        for needed in modules_among(names, imports_of(path))
        if box_of(name) != box_of(needed)
        if {box_of(name), box_of(needed)} <= boxes
        if level_of[box_of(name)] >= level_of[box_of(needed)]
    }
    assert not wrong


def box_of(module: str) -> str:
    """Return the folder of a module within its part, or the module if it has none."""
    return module.split(".")[2]


def modules_among(modules: Iterable[str], imports: Iterable[str]) -> set[str]:
    """Return the imported modules, even if only a name is imported from them."""
    return {
        module
        for module in modules
        if any(is_within(name, {module}) for name in imports)
    }


def loaded_by(*modules: str) -> set[str]:
    """Import modules in their own process, and return what was loaded with them."""
    code = f"import {', '.join(modules)}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_api_does_not_load_django() -> None:
    loaded = loaded_by("readback.api.server")
    assert "uvloop" in loaded
    assert not loaded & {"django", "allauth"}


def test_importing_the_command_line_loads_neither_the_server_nor_the_probe() -> None:
    loaded = loaded_by("readback.cli")
    assert "click" in loaded
    assert not loaded & {*SERVER_PACKAGES, "psycopg", "rich", "readback.probe"}


def test_importing_the_probe_loads_nothing_else() -> None:
    names = ("command", "runner", "output.text")
    loaded = loaded_by(*(f"readback.probe.{name}" for name in names))
    assert not loaded & {*SERVER_PACKAGES, "readback.cli"}
    # The file that people download does not contain these packages.
    assert not loaded & {"click", "httpx"}


def test_the_options_of_the_probe_are_read_before_anything_large_is_loaded() -> None:
    loaded = loaded_by("readback.probe.command")
    assert not loaded & {"certifi", "rich", "ssl", "readback.probe.runner"}


def test_a_start_of_the_cabinet_loads_nothing_that_few_visits_need(
    tmp_path: Path,
) -> None:
    code = (
        "import gc, sys, readback.cabinet.server\n"
        "readback.cabinet.server.load_application()\n"
        "import readback.cabinet.urls\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 10_000, *sys.modules)"
    )
    settings = environment_with({"READBACK_DATA_DIR": str(tmp_path / "data")})
    done = run_readback(settings, "manage", "shell", "--verbosity", "0", "-c", code)
    collects_garbage, is_frozen, *modules = done.stdout.split()
    assert (collects_garbage, is_frozen) == ("True", "True")
    loaded = {name.split(".")[0] for name in modules}
    assert {"django", "allauth"} <= loaded
    assert not loaded & {"jwt", "markdown_it", "requests"}
