"""One name means one thing: no two classes in src/ have the same name."""

import ast
from collections import Counter
from pathlib import Path

from tests.support.files import statements_in

PACKAGE = Path(__file__).parents[2] / "src" / "readback"
# Django's name for the options of a model or a form.
MANY_BY_DESIGN = {"Meta"}


def test_no_two_classes_have_the_same_name() -> None:
    # Migrations follow Django's names, and snippets are programs of users.
    left_out = {"migrations", "snippets"}
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        if path.parent.name not in left_out
        for node in statements_in(path)
        if isinstance(node, ast.ClassDef)
    )
    assert len(names) > 100
    assert {name for name, count in names.items() if count > 1} <= MANY_BY_DESIGN
