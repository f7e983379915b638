"""The account of a temporary server whose key was chosen in the settings."""

import pytest

from readback import keys
from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services
from readback.cli.exit_codes import CannotStart
from readback.cli.startup import ephemeral_account
from readback.config import Config

pytestmark = pytest.mark.usefixtures("database")


def test_a_chosen_key_is_created_once_and_used_again():
    config = Config(ephemeral_key=keys.mint())

    first, second = ephemeral_account(config), ephemeral_account(config)

    assert first["key"] == second["key"] == config.ephemeral_key
    assert first["email"] == second["email"]
    owner = account_selectors.account_find(first["email"])
    [key] = key_selectors.keys_of(owner)
    assert key_selectors.key_is_accepted(key)


def test_a_chosen_key_that_was_revoked_is_refused_in_a_sentence_without_it():
    config = Config(ephemeral_key=keys.mint())
    ephemeral_account(config)
    services.key_revoke(key_selectors.key_find(config.ephemeral_key))

    with pytest.raises(CannotStart, match="no longer accepted") as refused:
        ephemeral_account(config)
    assert config.ephemeral_key not in refused.value.message
