"""The secret that signs sessions and links: set by the operator, or generated once.

A generated secret is stored in a file in the data directory that only its owner can
read. Nothing here prints or logs it.
"""

import os
import secrets
from pathlib import Path

from readback.cabinet.serving import private_files
from readback.cabinet.serving.private_files import SECRET_KEY_NAME
from readback.config import Config, ConfigError
from readback.setting_values import MIN_SECRET_KEY_LENGTH

REPLACE = (
    "Restore the file from a backup, or delete it: then a new secret key is generated, "
    "and everyone has to log in again."
)


def load(config: Config) -> str:
    """Return the secret; without one in the settings, create its file if needed."""
    if config.secret_key:
        return config.secret_key
    path = config.data_dir / SECRET_KEY_NAME
    try:
        if not path.exists():
            _create(path)
        return read(path)
    except OSError as error:
        raise ConfigError(
            f"READBACK_DATA_DIR: {error.filename or path} cannot be used: "
            f"{error.strerror}"
        ) from None
    except ValueError as error:
        raise ConfigError(f"READBACK_DATA_DIR: {path} {error}. {REPLACE}") from None


def read(path: Path) -> str:
    """Return a stored secret; raise ValueError if it is damaged."""
    content = path.read_bytes()
    length = len(content.strip())
    if length < MIN_SECRET_KEY_LENGTH:
        raise ValueError(
            f"is damaged: it has {length} characters, and a secret key at least "
            f"{MIN_SECRET_KEY_LENGTH}"
        )
    if not content.isascii():
        raise ValueError("is damaged: it contains other characters than ASCII")
    return content.decode("ascii")


def _create(path: Path) -> None:
    private_files.make_directory(path.parent)
    temporary = path.with_name(f"{SECRET_KEY_NAME}.{secrets.token_hex(4)}")
    try:
        private_files.store(temporary, secrets.token_urlsafe(48))
        # Linking is atomic and never overwrites, so two processes that start at the
        # same time both read the secret of the faster one.
        os.link(temporary, path)
        private_files.sync(path.parent)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
