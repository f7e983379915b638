"""The account of a temporary server whose key was chosen in the settings."""

import pytest

from readback import keys
from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.keys import selectors as key_selectors
from readback.cli.startup import ephemeral_account
from readback.config import Config
from tests.cabinet.which_database import BOTH

DATABASES = BOTH

pytestmark = pytest.mark.usefixtures("database")


def test_a_chosen_key_is_created_once_and_used_again():
    config = Config(ephemeral_key=keys.mint())

    first, second = ephemeral_account(config), ephemeral_account(config)

    assert first["key"] == second["key"] == config.ephemeral_key
    assert first["email"] == second["email"]
    owner = account_selectors.account_find(first["email"])
    [key] = key_selectors.keys_of(owner)
    assert key.is_active
