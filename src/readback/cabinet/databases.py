"""How Django reaches the database: SQLite in a file, or PostgreSQL.

Turns the settings into Django's DATABASES and nothing else; the schema is the
migrations' business, and the API opens its own connections.
"""

from typing import Any

from readback.config import Config, ConfigError

# Seconds that a writer waits for another one before "database is locked".
BUSY_SECONDS = 10


def default(config: Config) -> dict[str, Any]:
    if config.sqlite_path:
        return _sqlite(str(config.sqlite_path.absolute()))
    return _postgresql(config.effective_database_url)


def _sqlite(path: str) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "timeout": BUSY_SECONDS,
            # A transaction that reads first and writes later would otherwise fail
            # at once, without waiting, when somebody wrote in between.
            "transaction_mode": "IMMEDIATE",
            # WAL: readers never wait for the writer, nor it for them.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
    }


def _postgresql(url: str) -> dict[str, Any]:
    # Only PostgreSQL needs the driver, and only it knows all forms of its address.
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        options = conninfo_to_dict(url)
    except ProgrammingError:
        # The driver's own words may quote the address, and so the password.
        raise ConfigError(
            "READBACK_DATABASE_URL is not an address that PostgreSQL understands"
        ) from None
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": options.pop("dbname", ""),
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # PgBouncer in transaction mode gives every transaction another session, so
        # neither cursors nor prepared statements may outlive one.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {"prepare_threshold": None, "connect_timeout": 10, **options},
    }
