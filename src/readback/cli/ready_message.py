"""What `readback serve` prints when it is ready: text, or one line of JSON."""

import json
import os
import shlex
import shutil
import socket
import sys
from pathlib import Path

import click

from readback.config import Config
from readback.contract import CHAT_PATH, MODEL

# Podman creates this file in every container.
_PODMAN_MARK = Path("/run/.containerenv")


def print_text(config: Config, account: dict[str, str], *, ephemeral: bool) -> None:
    """Print addresses and commands; see `startup.prepare_database` for the account."""
    click.echo("Readback is running. Press Ctrl-C to stop it.\n")
    click.echo(f"  API      {config.base_url}")
    click.echo(f"  Cabinet  {config.effective_cabinet_url}")
    click.echo(f"  Ops      {_ops_url(config)}  (health, readiness, metrics)\n")
    if config.ephemeral_key:
        click.echo(f"READBACK_EPHEMERAL_KEY is a key of {account['email']}.\n")
    elif "key" in account:
        click.echo(
            f"Created a key for the account {account['email']}, which is shown only "
            "this once. Try it:\n"
        )
        click.echo(f"  {curl(config, account['key'])}\n")
    if link := account.get("link"):
        click.echo(
            f"To log in to the cabinet as {account['email']}, set a password. This "
            "link works once, within one hour:\n"
        )
        click.echo(f"  {link}\n")
    elif link is not None:
        click.echo(f"Log in to the cabinet as {account['email']}.\n")
    program = _program()
    if ephemeral and not config.database_url:
        # Other commands must be told where this server has its data.
        folder = shlex.quote(str(config.data_dir.absolute()))
        program = f"READBACK_DATA_DIR={folder} {program}"
    email = account.get("email", "EMAIL")
    missing = account.get("missing")
    if missing == "account":
        create = f"{program} account create {email} --confirmed"
        click.echo(f"There is no account yet. To create one: {create}")
    elif missing:
        click.echo(
            "Standard output is not a terminal, so no key and no link to log in are "
            "printed here; start with --show-key to print them.\n"
        )
    which = "a" if missing in ("account", "key") else "another"
    click.echo(f"To create {which} key: {program} key create {email}")


def print_json(config: Config, account: dict[str, str]) -> None:
    """Print one line for a test harness to parse."""
    line = {
        "base_url": config.base_url,
        "api_key": account["key"],
        "cabinet_url": config.effective_cabinet_url,
        "ops_url": _ops_url(config),
        "account_email": account["email"],
        "data_dir": str(config.data_dir.absolute()),
        "pid": os.getpid(),
    }
    click.echo(json.dumps(line))


def curl(config: Config, key: str) -> str:
    """Return a command that works unchanged in a shell on this machine."""
    socket_paths = [bind.path for bind in config.api_bind if bind.path]
    only_sockets = len(socket_paths) == len(config.api_bind)
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    return shlex.join(
        [
            "curl",
            *(["--unix-socket", socket_paths[0]] if only_sockets else []),
            config.api_origin + CHAT_PATH,
            *("-H", f"Authorization: Bearer {key}"),
            *("-H", "Content-Type: application/json"),
            *("-d", json.dumps(body)),
        ]
    )


def _program() -> str:
    """Return how to call this program: `make run` starts one that is not on PATH."""
    if os.getpid() == 1:
        # The only program of a container, whose host name is its id.
        engine = "podman" if _PODMAN_MARK.exists() else "docker"
        return f"{engine} exec -it {socket.gethostname()} readback"
    if shutil.which("readback"):
        return "readback"
    is_script = Path(sys.argv[0]).name == "readback"
    return shlex.quote(sys.argv[0]) if is_script else "python -m readback"


def _ops_url(config: Config) -> str:
    return str(config.ops_bind) if config.ops_bind.path else config.ops_bind.origin
