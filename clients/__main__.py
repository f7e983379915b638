"""The command line of the clients: `python -m clients`."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

import click
from bench.progress import ProgressBar

from clients import calls, environments, rehearsals
from clients.drivers import Client, all_clients

# Returns a line about a client, and what contradicts the table.
Run = Callable[[Client, calls.Site], tuple[str, list[str]]]
# A client spends most of its time on imports.
AT_ONCE = 4


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option(
    "--rehearse",
    is_flag=True,
    help="Send failures and delays instead, and write the table of docs/programs.md.",
)
@click.option("--list", "listing", is_flag=True, help="List the clients and stop.")
def main(names: tuple[str, ...], rehearse: bool, listing: bool) -> None:
    """Run real clients against a live server; compare them with programs.toml.

    Without NAMES, every client runs. The exit code is 1 if one of them behaves
    differently from the table of programs.
    """
    known = all_clients()
    unknown = set(names) - {client.name for client in known}
    if unknown:
        raise click.BadParameter(f"no such client: {', '.join(sorted(unknown))}")
    chosen = [client for client in known if not names or client.name in names]
    if listing:
        click.echo("\n".join(client.name for client in chosen))
        return
    if rehearse:
        rows: list[str] = []
        run_all(chosen, partial(_rehearse, rows))
        if not names:
            rehearsals.write(rows)
    elif any(run_all(chosen, compare).values()):
        sys.exit(1)


def run_all(clients: list[Client], run: Run) -> dict[str, list[str]]:
    """Return what contradicts the table, by client name."""
    found = {}
    with ProgressBar() as progress, ThreadPoolExecutor(AT_ONCE) as pool:
        progress.add_steps(len(clients))
        progress.describe("starting a server")
        with calls.site() as site:
            progress.describe("running clients")
            running = {pool.submit(run, client, site): client for client in clients}
            try:
                for done in as_completed(running):
                    client = running[done]
                    line, problems = done.result()
                    found[client.name] = problems
                    progress.finish_step("; ".join([line, *problems]))
            finally:
                # After Ctrl-C, no other client starts.
                pool.shutdown(cancel_futures=True)
    return found


def _rehearse(
    rows: list[str], client: Client, site: calls.Site
) -> tuple[str, list[str]]:
    try:
        rows.append(rehearsals.row(client, site))
    except environments.NotInstalled as problem:
        return f"{client.name}: not run: {problem}", []
    return rows[-1].strip(), []


def compare(client: Client, site: calls.Site) -> tuple[str, list[str]]:
    """Return a line about one client, and what contradicts the table."""
    try:
        command = environments.command(client)
    except environments.NotInstalled as problem:
        return f"{client.name}: not run: {problem}", []
    version = environments.version(client)
    problems = calls.contradictions(client, command, site)
    verdict = "not as in programs.toml" if problems else "as in programs.toml"
    return f"{client.name} {version}: {verdict}", problems


if __name__ == "__main__":
    main(prog_name="python -m clients")
