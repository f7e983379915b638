"""What allauth calls internal is hardly used, and is where we look for it.

allauth is read and not imported, so that a name that has moved is a test that fails and
says its name, and not an error of every test.
"""

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "readback"
# What is private in a public class, and ours replaces or calls.
PRIVATE = [
    "allauth.socialaccount.providers.openid_connect.views.OpenIDConnectOAuth2Adapter"
    "._decode_id_token",
    "allauth.account.adapter.DefaultAccountAdapter._get_login_attempts_cache_key",
]


def is_internal(name: str) -> bool:
    return name.startswith("allauth.") and "internal" in name.split(".")


def names_that_we_use() -> set[str]:
    imported = {name for path in python_files(PACKAGE) for name in imports_of(path)}
    return set(filter(is_internal, imported))


@pytest.mark.parametrize("name", sorted(names_that_we_use()) + PRIVATE)
def test_what_we_use_of_allauth_has_not_moved(name: str) -> None:
    spec = find_spec("allauth")
    assert spec and spec.origin
    place = Path(spec.origin).parent
    rest = name.split(".")[1:]
    while rest and (place / rest[0]).is_dir():
        place /= rest.pop(0)
    file = place / f"{rest.pop(0)}.py"
    assert file.exists()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for each in rest:
        [found] = [node for node in body if getattr(node, "name", "") == each]
        body = getattr(found, "body", [])


def test_hardly_anything_that_allauth_calls_internal_is_imported() -> None:
    # Public modules read the records of a session; nothing public adds to them.
    assert len(names_that_we_use()) == 1


def test_only_the_release_that_is_locked_may_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    server = " ".join(project["optional-dependencies"]["server"])
    bounds = re.search(r"django-allauth\[[\w,]+\]>=(\d+)\.(\d+),<(\d+)\.(\d+)", server)
    assert bounds
    year, release, *end = map(int, bounds.groups())
    assert end == [year, release + 1]
    locked = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    assert f"\ndjango-allauth=={year}.{release}." in locked
