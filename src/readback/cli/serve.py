"""`readback serve`: both planes as one, or one plane alone.

The sockets are opened first, then the database is prepared, then each plane gets a
process. This process, and with it the API's, never imports Django.
"""

import time

import click

from readback.cli import announcements, ephemeral, listeners, preparation, settings
from readback.cli.announcements import Announcement
from readback.cli.doors import Door
from readback.cli.exits import CannotStart, Exit, Failure
from readback.cli.listeners import Listeners
from readback.cli.processes import Family, Report, report_on, run_apart
from readback.config import Config

READY_SECONDS = 60
_POLL_SECONDS = 0.02


@click.group(invoke_without_command=True)
@click.option(
    "--ephemeral",
    "is_ephemeral",
    is_flag=True,
    help="Free ports, a temporary database, one account and key; gone when stopped.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="With --ephemeral: print addresses and key as one line of JSON when ready.",
)
@click.pass_context
def serve(context: click.Context, is_ephemeral: bool, as_json: bool) -> None:
    """Serve the API and the cabinet on this machine.

    Migrates the database by itself. On a first start with the embedded database and
    loopback addresses it makes a local account and a key, and prints a command that
    uses the key.
    """
    if as_json and not is_ephemeral:
        raise click.UsageError("--json goes with --ephemeral.")
    if context.invoked_subcommand:
        if is_ephemeral:
            raise click.UsageError("--ephemeral serves both planes.")
        return
    settings.require_server_parts()
    context.exit(_serve_ephemeral(as_json) if is_ephemeral else _serve_both())


@serve.command()
@click.pass_context
def api(context: click.Context) -> None:
    """Serve the API alone; the database must be migrated."""
    settings.require_server_parts()
    config = settings.load()
    settings.check_certificate(config)
    api_listeners, ops_listener = listeners.for_api(config)
    run_apart(lambda: preparation.check(config))
    click.echo(f"Serving the API at {config.base_url}.", err=True)
    from readback.api import server

    context.exit(server.run(config, api_listeners, ops_listener))


@serve.command()
def cabinet() -> None:
    """Serve the cabinet alone; the database must be migrated."""
    settings.require_server_parts()
    config = settings.load()
    listener = listeners.for_cabinet(config)
    preparation.check_cabinet(config)
    click.echo(f"Serving the cabinet at {config.effective_cabinet_url}.", err=True)
    from readback.cabinet import server

    server.run(config, listener)


def _serve_both() -> int:
    config = settings.load()
    sockets = listeners.for_both(config)
    return _run(config, sockets, announcements.as_text, is_ephemeral=False)


def _serve_ephemeral(as_json: bool) -> int:
    announce = announcements.as_json if as_json else announcements.as_text
    with ephemeral.prepared() as (config, sockets):
        return _run(config, sockets, announce, is_ephemeral=True)


def _run(
    config: Config, sockets: Listeners, announce: Announcement, *, is_ephemeral: bool
) -> int:
    """Start the planes, say so when both are ready, and wait for their end."""
    settings.check_certificate(config)
    doors = [Door(sockets.ops, "/readyz"), Door(sockets.cabinet, "/healthz")]
    family, report = Family(), Report()
    family.start("cabinet", lambda: _cabinet(config, sockets, report, is_ephemeral))
    facts = _received(report, family)
    if family.is_whole():
        family.start("API", lambda: _api(config, sockets))
    # A listener that stays open here would go on taking connections that nobody
    # answers while the planes stop.
    for listener in sockets:
        listener.close()
    if _until_ready(family, doors):
        announce(config, facts)
    return family.wait()


def _cabinet(
    config: Config, sockets: Listeners, report: Report, is_ephemeral: bool
) -> int:
    for listener in (*sockets.api, sockets.ops):
        listener.close()
    # The database is prepared here since this process needs Django anyway, and
    # importing it is most of the time that a start takes.
    code = report_on(
        report, lambda: preparation.prepare(config, ephemeral=is_ephemeral)
    )
    if code == Exit.OK:
        from readback.cabinet import server

        server.run(config, sockets.cabinet)
    return code


def _api(config: Config, sockets: Listeners) -> int:
    sockets.cabinet.close()
    from readback.api import server

    return server.run(config, sockets.api, sockets.ops)


def _received(report: Report, family: Family) -> dict[str, str]:
    try:
        return report.receive()
    except CannotStart:
        family.stop()
        family.wait()
        raise


def _until_ready(family: Family, doors: list[Door]) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    while family.is_whole():
        if all(door.answers() for door in doors):
            return True
        if time.monotonic() > deadline:
            family.stop()
            family.wait()
            raise Failure(f"Readback did not get ready in {READY_SECONDS} seconds.")
        time.sleep(_POLL_SECONDS)
    return False
