"""The wheel contains every file that the installed package needs, and has its name."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]
CABINET = "readback/cabinet"


def test_the_wheel_contains_templates_snippets_translations_and_docs(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
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
