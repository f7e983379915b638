"""docs/deploy.md and docs/backup.md on a Debian host, from installation to removal."""

import pytest

from tests.procedures.namespaces import run_in_namespaces


@pytest.mark.long
def test_an_operator_installs_starts_saves_restores_and_removes_it():
    run_in_namespaces("tests.procedures.debian_host", "haproxy", "curl", "useradd")
