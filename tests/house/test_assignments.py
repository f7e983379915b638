"""Each statement assigns one value, so that readers need not match two lists."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.files import python_files, statements_in

ROOT = Path(__file__).parents[2]
DISPLAYS = (ast.Tuple, ast.List)


def paired(path: Path) -> Iterator[str]:
    """Yield the statements that assign a list of values to a list of names."""
    for node in statements_in(path):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, DISPLAYS):
            continue
        if any(isinstance(target, DISPLAYS) for target in node.targets):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("folder", ["src", "bench", "clients", "soak"])
def test_no_statement_assigns_several_values_to_several_names(folder: str) -> None:
    found = [line for path in python_files(ROOT / folder) for line in paired(path)]

    assert not found
