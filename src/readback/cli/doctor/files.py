"""Checks of `readback doctor`: data directory, disk, logs, who can read secrets."""

import os
import shlex
import shutil
import stat
from dataclasses import fields
from pathlib import Path

from readback.cabinet.serving import private_files
from readback.cli.doctor import CheckResults, fail, ok, warn
from readback.config import Config, variable

# Less than this, and the next sign-ups may fail …
_FREE_BYTES = 1_000_000
# … or soon will; as in deploy/prometheus/alerts.yml.
_ALMOST_FULL_BYTES = 1_000_000_000
# Where the units in deploy/systemd read the settings, secrets included.
ENVIRONMENT_FILES = (
    Path("/etc/readback/environment"),
    Path("/etc/readback/api.environment"),
)
# Where Docker and Podman put secrets, in containers, which have no other users.
CONTAINER_SECRETS = Path("/run/secrets")


def data_directory(config: Config) -> CheckResults:
    if config.secret_key and not config.sqlite_path:
        yield ok("data directory", "not used, because the database has everything")
        return
    path = config.data_dir.absolute()
    existing = _existing(path)
    action = "Set READBACK_DATA_DIR to a writable directory."
    if not existing.is_dir():
        found = f"{existing} is a file, and must be a directory"
        yield fail("data directory", found, action)
    elif not os.access(existing, os.W_OK):
        found = f"{existing} is not writable for this user"
        yield fail("data directory", found, action)
    else:
        state = "is writable" if path.exists() else "can be created"
        yield ok("data directory", f"{path} {state}")


def disk(config: Config) -> CheckResults:
    if not config.sqlite_path:
        return
    place = _existing(config.sqlite_path.absolute())
    free = shutil.disk_usage(place).free
    found = f"{free:,} bytes are free on the disk of {place}"
    if free < _FREE_BYTES:
        yield fail("disk", found, "Free some space on it.")
    elif free < _ALMOST_FULL_BYTES:
        yield warn("disk", found, "Free some space on it before it is full.")
    else:
        yield ok("disk", found)


def security_log(config: Config) -> CheckResults:
    """Check the file that READBACK_SECURITY_LOG names, if it names one."""
    path = Path(config.security_log)
    if not path.is_absolute():
        return
    folder, check = path.parent, "security log"
    if not os.path.isdir(folder):
        found = f"the directory {folder} does not exist"
    elif os.path.exists(path) and not os.path.isfile(path):
        found = f"{path} is not a regular file"
    elif os.path.exists(path) and os.access(path, os.W_OK):
        yield ok(check, f"{path} is writable")
        return
    elif not os.path.exists(path) and os.access(folder, os.W_OK | os.X_OK):
        yield ok(check, f"{path} can be created")
        return
    else:
        found = f"{path} is not writable for this user"
    action = "Create the directory, and let the user of the service write to it."
    yield fail(check, found, action)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def secret_key(config: Config) -> CheckResults:
    if config.secret_key:
        yield ok("secret key", "set in READBACK_SECRET_KEY")
        return
    path = config.data_dir / private_files.SECRET_KEY_NAME
    found = f"stored in {path}"
    try:
        private_files.read_secret_key(path)
    except FileNotFoundError:
        found = f"`readback serve` will generate one in {path}"
    except OSError as error:
        found = f"{path} cannot be read: {error.strerror}"
        yield fail("secret key", found, "Run Readback as the user who owns the file.")
        return
    except ValueError as error:
        found = f"{path} {error}"
        yield fail("secret key", found, private_files.REPLACE_SECRET_KEY)
        return
    if config.sqlite_path:
        yield ok("secret key", found)
    else:
        found = f"not set, so each machine generates its own in {path}"
        action = "Set READBACK_SECRET_KEY to the same value on every replica."
        yield warn("secret key", found, action)


def permissions(config: Config) -> CheckResults:
    if exposed := [str(path) for path in private_files.exposed(config)]:
        found = f"other users can access {', '.join(exposed)}"
        yield fail("permissions", found, f"Run chmod go= {shlex.join(exposed)}")
    else:
        found = "no other user can access the data directory or the database"
        yield ok("permissions", found)


def secret_files(config: Config) -> CheckResults:
    """Fail if everybody on this machine can read a file that the operator provides.

    Access for a group is the operator's decision, and usual for private keys.
    """
    given = [
        os.environ.get(f"{variable(row)}_FILE", "")
        for row in fields(config)
        if row.metadata["secret"]
    ]
    paths = [Path(name).absolute() for name in given if name]
    if config.tls_key:
        paths.append(config.tls_key.absolute())
    if public := [
        str(each) for each in (*paths, *ENVIRONMENT_FILES) if _is_public(each)
    ]:
        found = f"every user of this machine can read {', '.join(public)}"
        yield fail("secret files", found, f"Run chmod o= {shlex.join(public)}")
    elif paths:
        yield ok("secret files", f"private: {', '.join(map(str, paths))}")


def _is_public(path: Path) -> bool:
    """Return whether others may read the file and enter every directory above it."""
    if path.is_relative_to(CONTAINER_SECRETS):
        return False
    try:
        readable = path.stat().st_mode & stat.S_IROTH
        place = path.resolve().parent
        entered = all(
            each.stat().st_mode & stat.S_IXOTH for each in (place, *place.parents)
        )
    except OSError:  # does not exist, or cannot be read; other checks say so
        return False
    return bool(readable) and entered
