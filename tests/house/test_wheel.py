"""The wheel contains every file that the installed package needs, and has its name."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import build_context
from tests.support.build_context import ROOT

CABINET = "readback/cabinet"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what a container build gets, which must be enough for a wheel."""
    for path in build_context.files():
        copy = tmp_path / "sources" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path / "sources"


def test_the_wheel_contains_templates_snippets_translations_and_docs(tmp_path, sources):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=sources,
        check=True,
        capture_output=True,
        timeout=60,
    )
    [wheel] = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())

    docs = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]
    assert {f"{CABINET}/{path}" for path in docs} <= names
    assert {
        f"{CABINET}/templates/base.html",
        f"{CABINET}/static/cabinet/cabinet.css",
        f"{CABINET}/snippets/curl.sh",
        f"{CABINET}/locale/ru/LC_MESSAGES/django.mo",
    } <= names
    # The page tells people to install this file.
    assert f"'./{wheel.name}[server]'" in (ROOT / "docs/cli.md").read_text()
