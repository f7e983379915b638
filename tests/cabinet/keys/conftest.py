"""An owner and a key, with which most tests of keys begin."""

import pytest


@pytest.fixture
def alice(unsent_mails):
    # Django can be imported only when the settings are there.
    from tests.cabinet.owners import account

    return account()


@pytest.fixture
def key(alice):
    from readback.cabinet.keys import services

    return services.key_create(alice, "laptop").key
