"""`readback serve`: the API and the cabinet together, or one of them alone.

The command opens the sockets, then manages the processes. It never imports Django
itself. A temporary server's settings are put into the environment, because all
processes and commands read their settings only from there.
"""

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.config import dictConfig
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import click

from readback import logs
from readback.cli import console, listeners, settings
from readback.cli.database import set_up_django
from readback.config import Config
from readback.contract import CHAT_PATH, MODEL
from readback.processes.child import fork
from readback.processes.lifecycle import SHORT_NOTICE_SECONDS
from readback.processes.manager import Manager

# More than the account needs as JSON, and less than a pipe can hold.
_MAX_ACCOUNT_BYTES = 4096


@click.group(invoke_without_command=True)
@console.flag(
    "--ephemeral",
    "is_ephemeral",
    help="Use free ports and a temporary database with one account and one key, "
    "unless settings name others; delete the database when stopped.",
)
@console.json_flag(
    help="With --ephemeral: when ready, print addresses and key as one line of JSON."
)
@console.flag(
    "--show-key",
    help="Print the first key and the link to set a password even if standard output "
    "is not a terminal.",
)
@click.pass_context
def serve(
    context: click.Context, is_ephemeral: bool, as_json: bool, show_key: bool
) -> None:
    """Serve the API and the cabinet on this machine.

    Migrates the database first. On the first start with the embedded database and
    loopback addresses, it also creates a local account. On a terminal it creates the
    first key of this account and prints a curl command that uses the key.
    """
    if sys.stdout is None:  # closed, so a socket could get its descriptor
        console.discard_output()
    logs.never_block()
    dictConfig(logs.configuration())
    if as_json and not is_ephemeral:
        raise click.UsageError("--json requires --ephemeral.")
    if context.invoked_subcommand:
        if is_ephemeral or show_key:
            command = context.invoked_subcommand
            raise click.UsageError(
                f"These options always serve the API and the cabinet: omit {command}."
            )
        return
    if not is_ephemeral:
        config = settings.load_for_server()
        shows_secrets = show_key or sys.stdout.isatty()
        sockets = listeners.open_all(config)
        context.exit(_run(config, sockets, shows_secrets=shows_secrets))
    with _temporary_server() as (config, sockets):
        context.exit(_run(config, sockets, ephemeral=True, as_json=as_json))


@serve.command()
@click.pass_context
def api(context: click.Context) -> None:
    """Serve only the API; run `readback migrate` first."""
    config = settings.load_for_server()
    settings.check_certificate(config)
    sockets = listeners.open_for_api(config)
    from readback.api.server import api_server

    _run_in_child(lambda: _startup(needs_secret_key=False).check_database(config))
    click.echo(f"Serving the API at {config.base_url}.", err=True)
    manager = Manager(sockets)
    manager.add(api_server(config, manager.lifecycle, sockets))
    manager.wait_until_ready()
    context.exit(manager.wait())


@serve.command()
@click.pass_context
def cabinet(context: click.Context) -> None:
    """Serve only the cabinet; run `readback migrate` first."""
    config = settings.load_for_server()
    listener = listeners.open_for_cabinet(config)
    from readback.cabinet.server import cabinet_server

    manager = Manager([listener])
    prepare = _explained(lambda: _startup().prepare_cabinet(config))
    manager.add(cabinet_server(config, manager.lifecycle, listener, prepare))
    if manager.wait_until_ready():
        url = config.effective_cabinet_url
        click.echo(f"Serving the cabinet at {url}.", err=True)
    context.exit(manager.wait())


def _run(
    config: Config,
    sockets: listeners.Listeners,
    *,
    ephemeral: bool = False,
    shows_secrets: bool = True,
    as_json: bool = False,
) -> int:
    """Start the API and the cabinet, print a message when they are ready, and wait."""
    settings.check_certificate(config)
    from readback.cabinet.server import cabinet_server

    reader, writer = os.pipe()

    @_explained
    def prepare() -> None:
        # A cabinet worker does this because it needs Django anyway, and importing
        # Django takes most of the startup time.
        account = _startup().prepare_database(
            config, ephemeral=ephemeral, shows_secrets=shows_secrets
        )
        os.write(writer, json.dumps(account).encode())

    for_api, for_cabinet = sockets
    manager = Manager([*for_api, for_cabinet])
    manager.add(cabinet_server(config, manager.lifecycle, for_cabinet, prepare))
    # Import this while the cabinet starts; the API's workers share its memory.
    from readback.api.server import api_server

    manager.add(api_server(config, manager.lifecycle, for_api))
    if not manager.wait_until_ready():
        return manager.wait()
    account = json.loads(os.read(reader, _MAX_ACCOUNT_BYTES))
    try:
        if as_json:
            _print_json(config, account)
        else:
            _print_text(config, account, ephemeral=ephemeral)
        console.flush_output()
    except OSError as error:
        click.echo(f"{console.give_up_output(error)} Readback is running.", err=True)
    return manager.wait()


def _startup(*, needs_secret_key: bool = True) -> ModuleType:
    """Set Django up, and return `startup`, which can only be imported afterwards."""
    set_up_django(needs_secret_key=needs_secret_key)
    from readback.cli import startup

    return startup


def _explained(function: Callable[[], None]) -> Callable[[], None]:
    """Wrap a function so that an error ends its process as it would end a command: with
    one sentence and an exit code.
    """

    def explained() -> None:
        try:
            function()
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)

    return explained


def _run_in_child(function: Callable[[], None]) -> None:
    """Run a function in a child process, because it imports Django."""
    _, status = os.waitpid(fork(_explained(function)), 0)
    if status:
        sys.exit(os.waitstatus_to_exitcode(status))


@contextmanager
def _temporary_server() -> Iterator[tuple[Config, listeners.Listeners]]:
    """Listen on free ports and create a data directory; delete it at the end.

    Settings in the environment take precedence, so that a test can choose addresses.
    """
    with TemporaryDirectory(prefix="readback-", ignore_cleanup_errors=True) as folder:
        for listener in ("API", "OPS", "CABINET"):
            os.environ.setdefault(f"READBACK_{listener}_BIND", "127.0.0.1:0")
        os.environ.setdefault("READBACK_DATA_DIR", folder)
        os.environ.setdefault("READBACK_WORKERS", "1")
        os.environ.setdefault("READBACK_KEY_RATE", "0")
        # Stop quickly: the test has ended, and no one else knows the address.
        os.environ.setdefault("READBACK_STOP_NOTICE", str(SHORT_NOTICE_SECONDS))
        (*api, ops), cabinet = listeners.open_all(settings.load())
        # Set the addresses again, now with the ports that the operating system has
        # chosen.
        binds = ",".join(str(listeners.bind_of(listener)) for listener in api)
        os.environ["READBACK_API_BIND"] = binds
        os.environ["READBACK_OPS_BIND"] = str(listeners.bind_of(ops))
        os.environ["READBACK_CABINET_BIND"] = str(listeners.bind_of(cabinet))
        yield settings.load(), ([*api, ops], cabinet)


def _print_text(config: Config, account: dict[str, str], *, ephemeral: bool) -> None:
    """Print addresses and commands; `startup.prepare_database` describes `account`."""
    click.echo("Readback is running. Press Ctrl-C to stop it.\n")
    click.echo(f"  API      {config.base_url}")
    click.echo(f"  Cabinet  {config.effective_cabinet_url}")
    click.echo(f"  Ops      {_ops_url(config)}  (health, readiness, metrics)\n")
    if config.ephemeral_key:
        click.echo(f"READBACK_EPHEMERAL_KEY is a key of {account['email']}.\n")
    elif "key" in account:
        click.echo(
            f"Created a key for the account {account['email']}. It is shown only once. "
            "Try it:\n"
        )
        click.echo(f"  {_curl(config, account['key'])}\n")
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
        # Other commands must be told where this server keeps its data.
        folder = shlex.quote(str(config.data_dir.absolute()))
        program = f"READBACK_DATA_DIR={folder} {program}"
    if "hidden" in account:
        click.echo(
            "Standard output is not a terminal, so no key and no link to set a "
            "password are printed. If you need them, start with --show-key.\n"
        )
    if not account:
        create = f"{program} account create EMAIL --confirmed --operator"
        click.echo(f"To create an account for an operator: {create}")
    click.echo(f"To create a key: {program} key create {account.get('email', 'EMAIL')}")


def _print_json(config: Config, account: dict[str, str]) -> None:
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


def _curl(config: Config, key: str) -> str:
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
    """Return this program's command, which is not on PATH with `make run` or uvx."""
    if os.getpid() == 1:
        # We are in a container; its host name is the container's id.
        return f"docker exec -it {socket.gethostname()} readback"
    is_script = Path(sys.argv[0]).name == "readback"
    return shlex.quote(sys.argv[0]) if is_script else "python -m readback"


def _ops_url(config: Config) -> str:
    return str(config.ops_bind) if config.ops_bind.path else config.ops_bind.origin
