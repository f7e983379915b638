"""The Python files of the tests themselves."""

from collections.abc import Iterator
from pathlib import Path

# Environments that the tests of clients install inside tests/.
_INSTALLED = {".venv", "node_modules"}


def python_files(folder: Path) -> Iterator[Path]:
    """Yield the Python files in a folder, without those of installed packages."""
    for path in folder.rglob("*.py"):
        if not _INSTALLED & set(path.parts[len(folder.parts) :]):
            yield path
