"""docs/deploy-containers.md with Compose: from the start to a restore elsewhere."""

import pytest

from tests.procedures.namespaces import run_in_namespaces


@pytest.mark.long
def test_an_operator_starts_configures_saves_and_moves_it():
    run_in_namespaces("tests.procedures.compose_host", "haproxy", "curl", "openssl")
