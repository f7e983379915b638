"""The secret that signs sessions and links: set by the operator, or generated once.

A generated secret is stored in a file in the data directory that only its owner can
read. Nothing here prints or logs it.
"""

import os
import secrets
from pathlib import Path

from readback.cabinet import private_files
from readback.cabinet.private_files import SECRET_KEY_NAME
from readback.config import Config, ConfigError


def load(config: Config) -> str:
    """Return the secret; without one in the settings, create its file if needed."""
    if config.secret_key:
        return config.secret_key
    path = config.data_dir / SECRET_KEY_NAME
    try:
        if not path.exists():
            _create(path)
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise ConfigError(
            f"READBACK_DATA_DIR: {path} cannot be read or created: {error.strerror}"
        ) from None


def _create(path: Path) -> None:
    private_files.make_directory(path.parent)
    temporary = path.with_name(f"{SECRET_KEY_NAME}.{secrets.token_hex(4)}")
    with private_files.create(temporary) as file:
        file.write(secrets.token_urlsafe(48))
    # Linking is atomic and never overwrites, so two processes that start at the same
    # time both read the secret of the faster one.
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
