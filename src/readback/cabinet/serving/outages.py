"""Whether the database can be used, and what the log says if it cannot.

Requests notice an outage, and `readback doctor` tries. A full disk, a lock that is not
released or a lost server are no fault of a visitor and no bug, so they are told apart
from all other errors here. Django configures the log before the tables, so nothing here
may import them at once.
"""

import logging
import secrets
import time

from django.db import OperationalError, connection, transaction
from django.utils import timezone

_log = logging.getLogger("readback.cabinet.storage")
_LOG_SECONDS = 60.0
# More than any page stores at once, so that success means room for the next visitors.
_TRIED_BYTES = 256 * 1024

_logged_at = float("-inf")


def is_outage(error: BaseException | None) -> bool:
    """Return whether an error means that the database cannot be used at the moment."""
    # SQLite reports mistakes in a statement as operational errors, too.
    name = getattr(getattr(error, "__cause__", None), "sqlite_errorname", "")
    return isinstance(error, OperationalError) and name != "SQLITE_ERROR"


def log_outage(error: BaseException) -> None:
    """Say why the database cannot be used, once a minute however many requests fail."""
    global _logged_at
    if time.monotonic() - _logged_at > _LOG_SECONDS:
        _logged_at = time.monotonic()
        _log.error("The cabinet cannot use the database: %s", reason(error))


def reason(error: BaseException) -> str:
    # A message of PostgreSQL may quote values; its code and the drivers' own do not.
    state = getattr(error.__cause__, "sqlstate", None)
    words = " ".join(str(error).split())
    return f"{type(error.__cause__).__name__} ({state})" if state else words


def try_to_write() -> None:
    """Write to the database and undo it; raise Django's database error if that fails.

    Nothing is committed. The write still reaches the disk, because the value does not
    fit into the cache that SQLite is left with.
    """
    from readback.cabinet.models import CacheEntry

    with transaction.atomic():
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA cache_size = 1")
        CacheEntry.objects.create(
            cache_key=f"doctor-{secrets.token_hex(8)}",
            value=secrets.token_hex(_TRIED_BYTES // 2),
            expires=timezone.now(),
        )
        transaction.set_rollback(True)
