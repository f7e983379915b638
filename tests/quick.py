"""Which tests `make quick` runs: those that start no server, browser or database.

Nobody has to mark them. A test starts something if its code, or that of a fixture it
uses, names a function that does, or a function or class of the tests whose code does.
"""

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

# What starts a process that takes long: the product, PostgreSQL, a browser, a network.
STARTERS = {
    "tests.support.cabinet_server": {"cabinet_server"},
    "tests.support.namespaces": {"Namespaces"},
    "tests.support.oidc_provider": {"oidc_provider"},
    "tests.support.postgres": {"postgres"},
    "tests.support.warm_start": {"WarmProcess", "run_warm"},
    "playwright.sync_api": {"sync_playwright"},
}
_known: dict[object, bool] = {}


def is_quick(item: pytest.Item) -> bool:
    """Return whether the test starts nothing that takes long."""
    if not isinstance(item, pytest.Function):
        return True
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if "postgresql" in [each for each in chosen if isinstance(each, str)]:
        return False
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    used = [item.function, *(each.func for defs in fixtures for each in defs)]
    return not any(_starts(function) for function in used)


def _starts(value: object) -> bool:
    """Return whether a function, or a method of a class, starts something."""
    if value not in _known:
        _known[value] = False  # What calls itself is no reason.
        _known[value] = any(_function_starts(each) for each in _functions(value))
    return _known[value]


def _functions(value: object) -> Iterator[FunctionType]:
    if inspect.isclass(value):
        for member in vars(value).values():
            yield from _functions(inspect.unwrap(getattr(member, "__func__", member)))
    elif callable(value) and isinstance(found := inspect.unwrap(value), FunctionType):
        yield found


def _function_starts(function: FunctionType) -> bool:
    return any(_is_starter(each) or _starts(each) for each in _named_in(function))


def _is_starter(value: Any) -> bool:
    return value.__name__ in STARTERS.get(value.__module__, ())


def _named_in(function: FunctionType) -> Iterator[Any]:
    """Return the functions and classes that its code names, also `module.function`."""
    names = set(_names(function.__code__))
    found = [function.__globals__.get(name) for name in names]
    for module in [each for each in found if isinstance(each, ModuleType)]:
        if module.__name__.startswith("tests."):
            found += [getattr(module, name, None) for name in names]
    for value in found:
        is_code = inspect.isfunction(value) or inspect.isclass(value)
        if is_code and value.__module__.startswith(("tests.", "playwright.")):
            yield value


def _names(code: CodeType) -> Iterator[str]:
    """Return the names in the code of a function and of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
