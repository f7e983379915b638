"""docs/deploy-kubernetes.md: the trial certificate and what checks it."""

import pytest

from tests.procedures.namespaces import run_in_namespaces


@pytest.mark.long
def test_the_commands_that_check_it_trust_the_trial_certificate():
    run_in_namespaces("tests.procedures.kubernetes_front", "haproxy", "curl", "openssl")
