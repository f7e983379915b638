"""Files that only the user who runs Readback may read: the database and the secret key.

They are private from their creation, whatever the umask. `readback doctor` reports
files that others can read. The secret key signs sessions and links. It is set by the
operator, or generated once.
"""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from readback.config import Config
from readback.setting_values import MIN_SECRET_KEY_LENGTH, ConfigError

SECRET_KEY_NAME = "secret-key"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_directory(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        reason = "this path leads through a file, and must be a directory"
        raise NotADirectoryError(errno.ENOTDIR, reason, str(path)) from None


def create(path: Path) -> IO[str]:
    """Open a file for writing; if it does not exist, create it for this user only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "w")


def exposed(config: Config) -> list[Path]:
    directory = config.data_dir.absolute()
    found = [directory / SECRET_KEY_NAME]
    if config.sqlite_path:
        # SQLite gives its other files the same mode.
        found.append(config.sqlite_path.absolute())
    existing = [path for path in found if path.exists()]
    # A database outside the data directory may be in a shared one, such as /srv.
    if any(path.parent == directory for path in existing):
        existing.append(directory)
    return [path for path in existing if path.stat().st_mode & _OTHERS]


def load_secret_key(config: Config) -> str:
    """Return the secret key from the settings or from its file, created if needed."""
    if config.secret_key:
        return config.secret_key
    path = config.data_dir / SECRET_KEY_NAME
    try:
        if not path.exists():
            # `os.link` never replaces a file, so processes that start at the same time
            # all read the secret key that the first one stored.
            with suppress(FileExistsError):
                write_secret_key(path, secrets.token_urlsafe(48), put=os.link)
        return read_secret_key(path)
    except OSError as error:
        raise ConfigError(
            f"READBACK_DATA_DIR: {error.filename or path} cannot be used: "
            f"{error.strerror}"
        ) from None
    except ValueError as error:
        raise ConfigError(
            f"READBACK_DATA_DIR: {path} {error}. Restore the file from a backup, or "
            "delete it: then a new secret key is generated, and everyone has to log in "
            "again."
        ) from None


def read_secret_key(path: Path) -> str:
    """Return a stored secret key; raise ValueError if it is damaged."""
    content = path.read_bytes()
    if len(content.strip()) < MIN_SECRET_KEY_LENGTH or not content.isascii():
        raise ValueError(
            f"is damaged: a secret key has at least {MIN_SECRET_KEY_LENGTH} "
            "characters, all of them ASCII"
        )
    return content.decode("ascii")


def write_secret_key(
    path: Path, key: str, put: Callable[[Path, Path], None] = os.replace
) -> None:
    """Store a secret key so that it survives a power cut."""
    make_directory(path.parent)
    temporary = path.with_name(f"{SECRET_KEY_NAME}.{secrets.token_hex(4)}")
    try:
        with create(temporary) as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        put(temporary, path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
