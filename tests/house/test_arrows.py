"""The arrows of the design: cli → api | cabinet | probe → shared facts."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "readback"
SHARED = {"readback.contract", "readback.config", "readback.keys", "readback.logs"}

# Each part may know the shared facts, itself, and what stands here.
MAY_IMPORT = {
    "api": {"gunicorn", "httptools", "msgspec", "prometheus_client", "psycopg"}
    | {"uvloop"},
    "cabinet": {"allauth", "django", "gunicorn", "markdown_it", "psycopg"}
    | {"whitenoise"},
    "probe": {"httpx", "openai", "rich"},
}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by a relative path"
            module = node.module or ""
            inner = {f"{module}.{alias.name}" for alias in node.names}
            found |= inner if module == "readback" else {module}
    return found


def foreign(part: str, name: str) -> bool:
    root = name.split(".")[0]
    if root in sys.stdlib_module_names:
        return False
    own = name.startswith(f"readback.{part}.") or name == f"readback.{part}"
    shared = any(name == fact or name.startswith(f"{fact}.") for fact in SHARED)
    version = name == "readback.__version__"
    return not (own or shared or version or root in MAY_IMPORT[part])


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_part_knows_itself_the_shared_facts_and_its_tools_alone(part: str) -> None:
    # Snippets are shown to people, not imported.
    found = sorted((PACKAGE / part).rglob("*.py"))
    paths = [path for path in found if path.parent.name != "snippets"]
    assert paths
    wrong = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in paths
        for name in imports_of(path)
        if foreign(part, name)
    }
    assert not wrong


@pytest.mark.parametrize("fact", sorted(SHARED))
def test_the_shared_facts_need_the_standard_library_alone(fact: str) -> None:
    path = PACKAGE / f"{fact.removeprefix('readback.')}.py"
    outside = {
        name
        for name in imports_of(path)
        if name.split(".")[0] not in sys.stdlib_module_names and name not in SHARED
    }
    assert {name for name in outside if not name.startswith("readback.contract")} == (
        set()
    )


def loaded_by(module: str) -> set[str]:
    """Import a module in a process of its own, and say what came with it."""
    code = f"import {module}, sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_the_api_brings_in_no_django() -> None:
    loaded = loaded_by("readback.api.server")
    assert "uvloop" in loaded
    assert not loaded & {"django", "allauth"}


def test_importing_the_command_line_brings_in_no_server() -> None:
    loaded = loaded_by("readback.cli")
    assert "click" in loaded
    assert not loaded & {"django", "allauth", "gunicorn", "uvloop", "msgspec"}
