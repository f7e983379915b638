"""`readback serve`: both planes together, or one plane alone.

The command opens the sockets, prepares the database, then starts one process per
plane. Neither this process nor the API's ever imports Django. The settings of a
temporary server are put into the environment, because both planes and every command
read their settings from there and nowhere else.
"""

import json
import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import click

from readback import logs
from readback.cli import console, listeners, settings
from readback.cli.database import set_up_django
from readback.cli.exit_codes import CannotStart, Failure
from readback.cli.listeners import Listeners, bind_of
from readback.cli.streams import give_up_output
from readback.cli.supervisor import ResultPipe, Supervisor, run_in_child
from readback.cli.wait import has_started
from readback.config import Config
from readback.contract import CHAT_PATH, MODEL
from readback.processes.lifecycle import SHORT_NOTICE_SECONDS
from readback.setting_values import Bind

READY_SECONDS = 60
_POLL_SECONDS = 0.02


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
    logs.never_block()
    if as_json and not is_ephemeral:
        raise click.UsageError("--json requires --ephemeral.")
    if context.invoked_subcommand:
        if is_ephemeral or show_key:
            plane = context.invoked_subcommand
            raise click.UsageError(
                f"The options always serve both planes: omit {plane}."
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
    api_listeners, ops_listener = listeners.open_for_api(config)
    run_in_child(lambda: _startup(needs_secret_key=False).check_database(config))
    click.echo(f"Serving the API at {config.base_url}.", err=True)
    from readback.api import server

    context.exit(server.run(config, api_listeners, ops_listener))


@serve.command()
@click.pass_context
def cabinet(context: click.Context) -> None:
    """Serve only the cabinet; run `readback migrate` first."""
    config = settings.load_for_server()
    listener = listeners.open_for_cabinet(config)
    _startup().prepare_cabinet(config)
    click.echo(f"Serving the cabinet at {config.effective_cabinet_url}.", err=True)
    from readback.cabinet import server

    context.exit(server.run(config, listener))


def _run(
    config: Config,
    sockets: Listeners,
    *,
    ephemeral: bool = False,
    shows_secrets: bool = True,
    as_json: bool = False,
) -> int:
    """Start both planes, print the message when they are ready, wait for their end."""
    settings.check_certificate(config)
    # The addresses are read now: the listeners are closed afterwards.
    ops, cabinet = (
        (listener.family, listener.getsockname())
        for listener in (sockets.ops, sockets.cabinet)
    )
    pipe = ResultPipe()

    def has_everything_started() -> bool:
        # Not /readyz and /healthz: before it stops, a plane gives notice to whoever
        # asked.
        has_api = has_started(ops, "/status", b'"status": "ready"')
        return has_api and has_started(cabinet, "/robots.txt")

    def start_cabinet() -> int:
        # The database is prepared in this process because it needs Django anyway, and
        # importing Django takes most of the time that a start takes.
        code = pipe.send_result_of(
            lambda: _startup().prepare_database(
                config, ephemeral=ephemeral, shows_secrets=shows_secrets
            )
        )
        if code:
            return code
        for listener in (*sockets.api, sockets.ops):
            listener.close()
        from readback.cabinet import server

        return server.run(config, sockets.cabinet)

    def start_api() -> int:
        sockets.cabinet.close()
        from readback.api import server

        return server.run(config, sockets.api, sockets.ops)

    supervisor = Supervisor()
    supervisor.start("cabinet", start_cabinet)
    try:
        account = pipe.receive()
    except CannotStart:
        supervisor.stop()
        supervisor.wait()
        raise
    if supervisor.is_running():
        supervisor.start("API", start_api)
    # A listener left open here would keep accepting connections that no process answers
    # while the planes stop.
    for listener in (*sockets.api, sockets.ops, sockets.cabinet):
        listener.close()
    if _wait_until_ready(supervisor, has_everything_started):
        try:
            if as_json:
                _print_json(config, account)
            else:
                _print_text(config, account, ephemeral=ephemeral)
            sys.stdout.flush()
        except OSError as error:
            sentence = give_up_output(error)
            if "key" in account and not config.ephemeral_key:
                # Nobody would ever learn the new key.
                supervisor.stop()
                supervisor.wait()
                run_in_child(lambda: _startup().discard_key(account["key"]))
                raise Failure(sentence) from None
            click.echo(f"{sentence} Readback is running.", err=True)
    return supervisor.wait()


def _startup(*, needs_secret_key: bool = True) -> ModuleType:
    """Set Django up, and return the module that cannot be imported without it."""
    set_up_django(needs_secret_key=needs_secret_key)
    from readback.cli import startup

    return startup


def _wait_until_ready(supervisor: Supervisor, is_ready: Callable[[], bool]) -> bool:
    """Return True when the planes are ready, False if one exits or is stopped."""
    deadline = time.monotonic() + READY_SECONDS
    while supervisor.is_running():
        if is_ready():
            return True
        if time.monotonic() > deadline:
            supervisor.stop()
            supervisor.wait()
            raise Failure(f"Readback was not ready within {READY_SECONDS} seconds.")
        time.sleep(_POLL_SECONDS)
    return False


@contextmanager
def _temporary_server() -> Iterator[tuple[Config, Listeners]]:
    """Listen on free ports and create a data directory; delete it at the end.

    A setting that is present is kept, so that a test can choose its own addresses.
    """
    with TemporaryDirectory(prefix="readback-", ignore_cleanup_errors=True) as folder:
        for plane in ("API", "OPS", "CABINET"):
            os.environ.setdefault(f"READBACK_{plane}_BIND", _any_port())
        os.environ.setdefault("READBACK_DATA_DIR", folder)
        os.environ.setdefault("READBACK_WORKERS", "1")
        os.environ.setdefault("READBACK_KEY_RATE", "0")
        # The test that started it has ended, and nobody else knows its address.
        os.environ.setdefault("READBACK_STOP_NOTICE", str(SHORT_NOTICE_SECONDS))
        sockets = listeners.open_all(settings.load())
        # Now with the ports that the operating system has chosen.
        # An address may have several sockets.
        api = dict.fromkeys(str(bind_of(listener)) for listener in sockets.api)
        os.environ["READBACK_API_BIND"] = ",".join(api)
        os.environ["READBACK_OPS_BIND"] = str(bind_of(sockets.ops))
        os.environ["READBACK_CABINET_BIND"] = str(bind_of(sockets.cabinet))
        yield settings.load(), sockets


def _any_port() -> str:
    """Return an address of this machine with any free port; not every one has IPv4."""
    ipv4, ipv6 = Bind("127.0.0.1", 0), Bind("::1", 0)
    try:
        listeners.check_can_listen(ipv4)
    except OSError:
        return str(ipv6)
    return str(ipv4)


def _print_text(config: Config, account: dict[str, str], *, ephemeral: bool) -> None:
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
        # Other commands must be told where this server has its data.
        folder = shlex.quote(str(config.data_dir.absolute()))
        program = f"READBACK_DATA_DIR={folder} {program}"
    email = account.get("email", "EMAIL")
    missing = account.get("missing")
    if missing == "account":
        create = f"{program} account create {email} --confirmed --operator"
        click.echo(f"There is no account yet. To create one: {create}")
    elif missing:
        click.echo(
            "Standard output is not a terminal, so no key and no link to log in are "
            "printed here; start with --show-key to print them.\n"
        )
    which = "a" if missing in ("account", "key") else "another"
    click.echo(f"To create {which} key: {program} key create {email}")


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
    """Return how to call this program: `make run` starts one that is not on PATH."""
    if os.getpid() == 1:
        # The only program of a container, whose host name is its id.
        return f"docker exec -it {socket.gethostname()} readback"
    if shutil.which("readback"):
        return "readback"
    is_script = Path(sys.argv[0]).name == "readback"
    return shlex.quote(sys.argv[0]) if is_script else "python -m readback"


def _ops_url(config: Config) -> str:
    return str(config.ops_bind) if config.ops_bind.path else config.ops_bind.origin
