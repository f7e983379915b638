"""The Python files in a folder, and what they import."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Environments that the client tests install inside tests/.
_INSTALLED = {".venv", "node_modules"}
# Attributes of a statement that hold lists of other statements.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def python_files(folder: Path) -> Iterator[Path]:
    """Yield the Python files in a folder, except those of installed packages."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _INSTALLED]
        yield from (Path(place, name) for name in names if name.endswith(".py"))


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the full names that a file imports: `a.b` for `from a import b`."""
    found: set[str] = set()
    for node in statements_in(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def statements_in(path: Path) -> Iterator[ast.AST]:
    """Yield the statements in a file, without their many expressions."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:
        for name in _BLOCKS:
            found += getattr(node, name, ())
    yield from found
