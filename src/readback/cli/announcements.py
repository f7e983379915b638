"""What `readback serve` says when it is ready: for people, or for programs."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from readback.config import Config
from readback.contract import CHAT_PATH, MODEL

# The facts are the e-mail of the local account, if there is one, and its key, if the
# key was made just now.
Announcement = Callable[[Config, dict[str, str]], None]


def as_text(config: Config, facts: dict[str, str]) -> None:
    click.echo("Readback is running. Ctrl-C stops it.\n")
    click.echo(f"  API      {config.base_url}")
    click.echo(f"  Cabinet  {config.effective_cabinet_url}")
    click.echo(f"  Ops      {_ops_url(config)}  (health, readiness, metrics)\n")
    if "key" in facts:
        click.echo("There is a local account with one key, shown only now. Try it:\n")
        click.echo(f"  {curl(config, facts['key'])}\n")
    email = facts.get("email", "EMAIL")
    click.echo(f"Make another key: {_program()} key create {email}")


def _program() -> str:
    """How to call this program from where it was called: make's is not on the PATH."""
    called = Path(sys.argv[0])
    if shutil.which("readback"):
        return "readback"
    return str(called) if called.name == "readback" else "python -m readback"


def as_json(config: Config, facts: dict[str, str]) -> None:
    """Print the one line that a test harness reads."""
    line = {
        "base_url": config.base_url,
        "api_key": facts["key"],
        "cabinet_url": config.effective_cabinet_url,
        "ops_url": _ops_url(config),
        "account_email": facts["email"],
        "pid": os.getpid(),
    }
    click.echo(json.dumps(line))


def curl(config: Config, key: str) -> str:
    """Write a command that works as it stands, in a shell on this machine."""
    socket_paths = [bind.path for bind in config.api_bind if bind.path]
    by_socket = len(socket_paths) == len(config.api_bind)
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    return shlex.join(
        [
            "curl",
            *(["--unix-socket", socket_paths[0]] if by_socket else []),
            config.api_origin + CHAT_PATH,
            *("-H", f"Authorization: Bearer {key}"),
            *("-H", "Content-Type: application/json"),
            *("-d", json.dumps(body)),
        ]
    )


def _ops_url(config: Config) -> str:
    return str(config.ops_bind) if config.ops_bind.path else config.ops_bind.origin
