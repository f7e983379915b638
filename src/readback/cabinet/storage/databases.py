"""Django's DATABASES setting, for SQLite or PostgreSQL."""

from typing import Any

from readback.config import Config
from readback.setting_values import ConfigError

# How long SQLite waits for another writer before it raises "database is locked".
LOCK_TIMEOUT_SECONDS = 10
# How long a thread keeps its connection. Opening one takes a millisecond of CPU time on
# SQLite, more than a poll that finds nothing new.
_CONNECTION_SECONDS = 60


def default(config: Config) -> dict[str, Any]:
    if config.sqlite_path:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(config.sqlite_path.absolute()),
            "CONN_MAX_AGE": _CONNECTION_SECONDS,
            "OPTIONS": {
                "timeout": LOCK_TIMEOUT_SECONDS,
                # Otherwise, a transaction that reads first and writes later fails at
                # once, without waiting, if another connection wrote in between.
                "transaction_mode": "IMMEDIATE",
                # With WAL, readers and the writer never wait for each other. FULL
                # writes each commit to the disk, so a stored key survives a power cut.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
            },
        }
    # Only PostgreSQL needs the driver; only the driver parses every form of the URL.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        options = conninfo_to_dict(config.effective_database_url)
    except ProgrammingError:
        # The driver's message may quote the URL, which contains the password.
        raise ConfigError(
            "READBACK_DATABASE_URL is not a valid PostgreSQL URL"
        ) from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": options.pop("dbname", ""),
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "CONN_MAX_AGE": _CONNECTION_SECONDS,
        "CONN_HEALTH_CHECKS": True,
        # PgBouncer in transaction mode may use another session for each transaction,
        # so neither cursors nor prepared statements may outlive a transaction.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {
            "prepare_threshold": None,
            "connect_timeout": 10,
            # `readback restore` uses this name to detect a running cabinet.
            "application_name": "readback-cabinet",
            **options,
        },
    }
