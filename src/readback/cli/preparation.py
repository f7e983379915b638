"""What the database needs before anybody is served.

Everything here needs Django, so it runs in the cabinet's process or in a child of
its own; what the parent must know goes back as plain facts.
"""

import secrets

from readback.cli import cabinet
from readback.config import Config

LOCAL_ACCOUNT = "local@localhost"


def prepare(config: Config, *, ephemeral: bool) -> dict[str, str]:
    """Migrate and note the address; make an account and a key where they are due."""
    cabinet.set_up()
    from readback.cabinet import schema

    with cabinet.database_faults():
        is_new = schema.is_new(schema.migrate())
        _record_address(config)
        facts = _accounts(config, is_new, ephemeral)
    _disconnect()
    return facts


def _accounts(config: Config, is_new: bool, ephemeral: bool) -> dict[str, str]:
    from readback.cabinet import selectors

    if ephemeral:
        # A database that is kept has the accounts of earlier runs.
        return _make_key(f"ephemeral-{secrets.token_hex(4)}@localhost")
    if is_new and _is_private(config):
        return _make_key(LOCAL_ACCOUNT)
    return {"email": LOCAL_ACCOUNT} if selectors.account_find(LOCAL_ACCOUNT) else {}


def check(config: Config) -> dict[str, str]:
    """Make sure that the API will find its tables; change nothing."""
    cabinet.set_up(signs=False)
    with cabinet.database_faults():
        cabinet.require_migrated(config)
    return {}


def check_cabinet(config: Config) -> None:
    """Make sure that the cabinet will find its tables, and note the address."""
    cabinet.set_up()
    with cabinet.database_faults():
        cabinet.require_migrated(config)
        _record_address(config)
    _disconnect()


def _record_address(config: Config) -> None:
    from readback.cabinet import schema, services

    # Replicas that start at once would each add a row.
    with schema.locked():
        services.address_record(config.base_url)


def _is_private(config: Config) -> bool:
    """Whether a key that nobody asked for can do no harm.

    Only this machine reaches it: an embedded database, loopback addresses, and no
    word of a proxy that carries them elsewhere.
    """
    binds = (*config.api_bind, config.cabinet_bind)
    public = config.public_base_url or config.cabinet_url
    return (
        config.sqlite_path is not None
        and all(bind.is_loopback for bind in binds)
        and not public
    )


def _make_key(email: str) -> dict[str, str]:
    from readback.cabinet import services

    account = services.account_create(email, confirmed=True)
    return {"email": email, "key": services.key_create(account, "first key").text}


def _disconnect() -> None:
    # gunicorn forks next, and two processes must not share a connection.
    from django.db import connections

    connections.close_all()
