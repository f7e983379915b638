"""The packages are built reproducibly and contain every file.

Their description is README.md without links and pictures that need the repository.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support import build_context
from tests.support.build_context import ROOT
from tests.support.pages import block, sh

CABINET = "readback/cabinet"


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of the files that a container build gets."""
    folder = tmp_path_factory.mktemp("sources")
    build_context.copy_to(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(sources):
    """The wheel, built with the command in docs/deploy.md."""
    *_, command = block("python3 -m venv build").splitlines()
    sh(command.replace("build/bin/pip", f"{sys.executable} -m pip"), cwd=sources)
    [path] = (sources / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel):
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def description(wheel, names):
    [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
    with ZipFile(wheel) as archive:
        message = message_from_bytes(archive.read(metadata))
    assert message["Description-Content-Type"] == "text/markdown"
    return message.get_payload(decode=True).decode()


def digests(sources: Path, umask: int) -> dict[str, str]:
    build = [sys.executable, "-m", "hatchling", "build", "-d", "built"]
    subprocess.run(build, cwd=sources, umask=umask, check=True, capture_output=True)
    built = (sources / "built").iterdir()
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built}


def test_two_builds_of_wheel_and_sdist_are_the_same(sources, tmp_path):
    other = shutil.copytree(sources, tmp_path / "elsewhere")
    for path in other.rglob("*"):
        os.utime(path, (1e9, 1e9))

    built = digests(sources, 0o022)

    assert len(built) == 2
    assert digests(other, 0o077) == built


def test_a_server_installs_nothing_that_only_a_build_needs(names):
    run, build = (
        (ROOT / "requirements" / name).read_text() for name in ("run.txt", "build.txt")
    )
    assert "\nhatchling==" in build and "hatchling" not in run
    assert not [name for name in names if name.endswith(".po")]


def test_the_wheel_contains_templates_snippets_translations_and_docs(names):
    files = (ROOT / "docs").rglob("*")
    docs = [path.relative_to(ROOT) for path in files if path.suffix in (".md", ".yaml")]

    assert {f"{CABINET}/{path}" for path in docs} <= names
    assert {
        f"{CABINET}/templates/base.html",
        f"{CABINET}/static/cabinet/cabinet.css",
        f"{CABINET}/keys/snippets/curl.sh",
        f"{CABINET}/locale/ru/LC_MESSAGES/django.mo",
    } <= names


def test_the_wheel_has_the_name_that_the_page_tells_people_to_install(wheel):
    assert f"'./{wheel.name}[server]'" in (ROOT / "docs/cli.md").read_text()


def test_the_description_has_no_link_or_picture_that_needs_the_repository(description):
    targets = re.findall(r"""(?:\]\(|(?:src|href)=["'])([^)"'\s]*)""", description)

    assert description.startswith("# Readback\n")
    assert not [each for each in targets if not each.startswith(("http", "#"))]


def test_every_page_that_the_description_names_is_in_the_wheel(description, names):
    pages = set(re.findall(r"`/docs/([a-z-]+)(?:#[\w-]+)?`", description))
    linked = set(re.findall(r"\]\(https://\S+/docs/([a-z-]+)\.md", description))

    assert {"connect", "contract", "operations"} <= pages | linked
    assert {f"{CABINET}/docs/{page}.md" for page in pages | linked} <= names
