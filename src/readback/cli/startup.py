"""Prepares and checks the database before the service starts.

Import this after setting up Django, in the cabinet's process or in a child process. The
parent process receives the results as a dictionary of strings.
"""

import secrets

from django.db import connections

from readback.api.data.dialects import StoreError
from readback.api.data.store import Store
from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.selectors import password_reset_link
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import User
from readback.cabinet.storage import schema
from readback.cli import database
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.keys import DIGEST_LENGTH

LOCAL_ACCOUNT = "local@localhost"


def prepare_database(
    config: Config, *, ephemeral: bool = False, shows_secrets: bool = True
) -> dict[str, str]:
    """Migrate the database and return the local account, if any.

    The result has the account's `email`, a new or preset `key` if there is one, and a
    `link` to set a password, which is empty once one is set. Without `shows_secrets`,
    it has `hidden` instead of key and link. If other machines can reach a permanent
    server, it has only the `email`.
    """
    with database.report_database_errors():
        is_new = schema.FIRST_MIGRATION in schema.migrate()
        if ephemeral:
            account = ephemeral_account(config)
        else:
            account = _local_account(config, is_new, shows_secrets)
    # The threads that render pages open their own connections.
    connections.close_all()
    return account


def check_database(config: Config) -> None:
    """Raise `CannotStart` unless the API can use the database; change nothing in it."""
    with database.report_database_errors():
        database.require_migrated(config)
    check_api_role(config)


def check_api_role(config: Config) -> None:
    store = Store(config)
    try:
        # Select what the API selects: its role may lack a privilege on a column.
        store.keys([bytes(DIGEST_LENGTH)])
    except StoreError as error:
        raise CannotStart(
            f"The API cannot read keys from the database: {error}. If it has a role of "
            "its own there, run deploy/postgresql/grants.sql."
        ) from None
    finally:
        store.close()


def prepare_cabinet(config: Config) -> None:
    with database.report_database_errors():
        database.require_migrated(config)
        with schema.locked():
            pass  # wait until a restore has replaced the file
    connections.close_all()


def _local_account(config: Config, is_new: bool, shows_secrets: bool) -> dict[str, str]:
    if is_new and _is_private(config):
        _new_account(LOCAL_ACCOUNT)
    account = account_selectors.account_find(LOCAL_ACCOUNT)
    if account is None:
        return {}
    # On a public host, the output often ends up in a log that other people read.
    if not _is_private(config):
        return {"email": account.email}
    if not shows_secrets:
        return {"email": account.email, "hidden": "key and link"}
    return {**_first_key(account), **_login(account)}


def ephemeral_account(config: Config) -> dict[str, str]:
    """Return a new account with a key, or the one that already has the preset key."""
    preset = config.ephemeral_key
    known = key_selectors.key_find(preset) if preset else None
    if known is None:
        # A random name, because a permanent database has accounts from earlier runs.
        account = _new_account(f"ephemeral-{secrets.token_hex(4)}@localhost")
        key = key_services.key_create(
            account, "first key", notify=False, text=preset or None
        )
        return {"key": key.text, **_login(account)}
    return {"key": preset, **_login(known.owner)}


def _new_account(email: str) -> User:
    return account_services.account_create(email, confirmed=True, any_domain=True)


def _first_key(account: User) -> dict[str, str]:
    """Create a key for an account that has never had one, and return it."""
    if key_selectors.keys_of(account).exists():
        return {}
    try:
        # No one reads e-mail at localhost, and the key is about to be printed.
        key = key_services.key_create(account, "first key", notify=False)
    except account_services.ServiceError:  # deactivated since the first start
        return {}
    return {"key": key.text}


def _login(account: User) -> dict[str, str]:
    """Return the address, and a link to set a password (empty if one is set)."""
    link = "" if account.has_usable_password() else password_reset_link(account)
    return {"email": account.email, "link": link}


def _is_private(config: Config) -> bool:
    """Return whether the installation is meant for this machine only.

    It then uses the embedded database and loopback addresses, and has no public address
    (which would imply a proxy). Only then is the first key created automatically.
    """
    if not config.sqlite_path or config.public_base_url or config.cabinet_url:
        return False
    return all(bind.is_loopback for bind in (*config.api_bind, config.cabinet_bind))
