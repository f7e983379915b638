"""The container image's base, and the files that its build gets."""

import re
import subprocess

import pytest

from tests.support import build_context
from tests.support.build_context import ROOT

CONTAINERFILE = (ROOT / "deploy" / "container" / "Containerfile").read_text()


def test_the_base_is_pinned_by_release_and_digest():
    [base] = re.findall(r"^ARG BASE=(.*)$", CONTAINERFILE, re.M)
    assert re.fullmatch(r"[\w./]+/python:3\.\d+\.\d+-slim-[a-z]+@sha256:\w{64}", base)
    assert set(re.findall(r"^FROM (\S+)", CONTAINERFILE, re.M)) == {"${BASE}"}


@pytest.mark.parametrize(
    "path",
    [
        "var/secret-key",
        "var/readback.sqlite3",
        ".git/config",
        ".venv/bin/python",
        ".env",
        "deploy/compose/secrets/database-url",
        "requirements/dev.txt",
        "src/readback/__pycache__/config.cpython-313.pyc",
        "tests/conftest.py",
    ],
)
def test_a_build_does_not_get_data_secrets_history_or_tests(path):
    assert not build_context.is_sent(path)


def test_a_build_gets_only_files_that_git_would_add():
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    known = subprocess.check_output(git, cwd=ROOT, text=True).split("\0")
    sent = {path.relative_to(ROOT).as_posix() for path in build_context.files()}
    assert sent
    assert sent <= set(known)


def test_a_build_gets_everything_that_is_copied():
    sent = {path.relative_to(ROOT).as_posix() for path in build_context.files()}
    lines = re.findall(r"^COPY (?!--from)(.*)$", CONTAINERFILE, re.M)
    sources = [source for line in lines for source in line.split()[:-1]]
    assert sources
    for source in sources:
        assert any(file == source or file.startswith(f"{source}/") for file in sent)
