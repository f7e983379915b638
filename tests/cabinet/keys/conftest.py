"""Fixtures for an owner and a key, which most tests in this folder need."""

import pytest


@pytest.fixture
def alice(unsent_mails):
    # Models can be imported only after Django has been set up.
    from tests.cabinet.owners import account

    return account()


@pytest.fixture
def key(alice):
    from readback.cabinet.keys import services

    return services.key_create(alice, "laptop").key
