"""docs/architecture-data.md lists every cache of the product, with its bound.

A cache is found by what makes it: the decorators of functools and of Django, a call of
Django's cache, or a name of a module that one of its functions changes.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.files import python_files

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
PAGE = (ROOT / "docs" / "architecture-data.md").read_text(encoding="utf-8")

Function = ast.FunctionDef | ast.AsyncFunctionDef
DECORATORS = {"cache", "lru_cache", "cached_property"}
# Methods that change a list, a dict or a set.
CHANGES = {"add", "append", "appendleft", "clear", "extend", "insert", "pop", "popitem"}
CHANGES |= {"remove", "setdefault", "update"}
# What looks like a cache, and why it needs no row.
EXCEPTIONS = {
    "JournalEntry.recognised": "belongs to a row, which one page reads",
    "BoundedPaginator.count": "belongs to one page of a list",
    "CabinetClient.openid_config": "belongs to one login",
    "catalogue._language": "is the language of this process",
    "errors._logged_at": "is when the log last had a line",
    "logs._queues": "are the places that this process logs to",
    "outbox.added": "is an event, which wakes the sender of this process",
    "security_log._command": "is the command that this process runs",
}


def test_the_page_lists_every_cache_and_no_other() -> None:
    owners = owners_in_the_page()
    named = {owner for owner in owners if "." in owner}
    assert named == caches() - EXCEPTIONS.keys()
    # The other owners are classes, whose objects are the caches or have them.
    assert owners - named <= classes() | {"cabinet_cache"}


def test_every_exception_exists() -> None:
    assert EXCEPTIONS.keys() <= caches()


def owners_in_the_page() -> set[str]:
    table = PAGE.partition("\n## Every cache\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|", table, re.M)[2:]
    assert len(rows) > 20
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def classes() -> set[str]:
    nodes = (node for path in python_files(PACKAGE) for node in ast.walk(tree(path)))
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)}


def caches() -> set[str]:
    """Return each cache as `owner.name`: its class, or else its module."""
    found = {
        f"{owner or path.stem}.{name}"
        for path in python_files(PACKAGE)
        for owner, name in caches_in(tree(path))
    }
    assert {"exchange._shorten", "docs.load"} <= found
    return found


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def caches_in(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the class, if any, and the name of each cache."""
    names = {name for node in module.body for name in assigned(node) if name}
    for owner, function in functions_of(module):
        if any(name_of(each) in DECORATORS for each in function.decorator_list):
            yield owner, function.name
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from (("", name) for name in node.names)
            elif (changed := changed_by(node)) in names:
                yield "", changed
            elif makes_cache(node):
                yield from ((owner, name) for name in assigned(node))
            elif is_stored_by_django(node):
                yield owner, function.name
    for node in module.body:
        if makes_cache(node):
            yield from (("", name) for name in assigned(node))


def functions_of(module: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in module.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        yield from ((owner, each) for each in inner if isinstance(each, Function))


def assigned(node: ast.AST) -> Iterator[str]:
    """Yield the names and the attributes that a statement assigns."""
    if isinstance(node, ast.AnnAssign):
        yield name_of(node.target)
    elif isinstance(node, ast.Assign):
        yield from map(name_of, node.targets)


def name_of(node: ast.AST) -> str:
    """Return the last part of a name: `lru_cache` of `functools.lru_cache(5)`."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    return getattr(node, "attr", "") or getattr(node, "id", "")


def changed_by(node: ast.AST) -> str:
    """Return the name of a container that an expression changes, if it does."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            return name if method in CHANGES else ""
    return ""


def makes_cache(node: ast.AST) -> bool:
    """Return whether a statement assigns a function with a cache."""
    value = getattr(node, "value", None)
    return value is not None and any(assigned(node)) and name_of(value) in DECORATORS


def is_stored_by_django(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="cache"), attr="set")):
            return True
    return False
