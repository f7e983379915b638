"""docs/deploy.md and docs/backup.md on a Debian host, from installation to removal."""

import subprocess
import sys

import pytest

from tests.support.commands import environment_with
from tests.support.namespaces import why_not
from tests.support.pages import ROOT
from tests.support.programs import needed_program

_OPTIONS = ("--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.mark.long
def test_an_operator_installs_starts_saves_restores_and_removes_it():
    if reason := why_not():
        pytest.skip(reason)
    for program in ("unshare", "haproxy", "curl", "useradd"):
        needed_program(program)
    if any(not folder.stat().st_mode & 0o001 for folder in ROOT.parents):
        pytest.skip("needs a clone that other users can read")
    module = "tests.procedures.debian_host"
    done = subprocess.run(
        ["unshare", *_OPTIONS, sys.executable, "-m", module],
        cwd=ROOT,
        env=environment_with({"PYTHONPATH": str(ROOT)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
