"""We import one internal name of allauth, and allow only the locked release."""

import re
import tomllib
from pathlib import Path

from tests.support.files import imports_of, python_files

ROOT = Path(__file__).parents[2]


def test_one_name_that_allauth_calls_internal_is_imported() -> None:
    imported = {
        name
        for path in python_files(ROOT / "src" / "readback")
        for name in imports_of(path)
        if name.startswith("allauth.") and "internal" in name.split(".")
    }
    # It records a login in the session, for which allauth has no public function.
    assert len(imported) == 1


def test_only_the_release_that_is_locked_may_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    server = " ".join(project["optional-dependencies"]["server"])
    bounds = re.search(r"django-allauth\[[\w,]+\]>=(\d+)\.(\d+),<(\d+)\.(\d+)", server)
    assert bounds
    year, release, *end = map(int, bounds.groups())
    assert end == [year, release + 1]
    locked = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    assert f"\ndjango-allauth=={year}.{release}." in locked
