"""The command line of the clients: `python -m clients`."""

from concurrent.futures import ThreadPoolExecutor, as_completed

import click
from bench.progress import ProgressBar

from clients import page, refusals, results, scenarios
from clients.drivers import Client, all_clients
from clients.scenarios import DEFAULT, SETTINGS, Result

# A client mostly waits: for its own imports, or until it tries again.
AT_ONCE = 4


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the clients and stop.")
@click.option("--render", is_flag=True, help="Write the page from the last results.")
@click.option("--trial", is_flag=True, help="Save nothing; docs/clients.md stays.")
def main(names: tuple[str, ...], listing: bool, render: bool, trial: bool) -> None:
    """Run real clients against a live server, and write docs/clients.md.

    Without NAMES, every client runs. With names, only these run again, and the page
    keeps the last results of the others.
    """
    known = all_clients()
    unknown = set(names) - {client.name for client in known}
    if unknown:
        raise click.BadParameter(f"no such client: {', '.join(sorted(unknown))}")
    if listing:
        for client in known:
            click.echo(client.name)
        return
    if not render:
        chosen = [client for client in known if not names or client.name in names]
        found = run_all(chosen)
        if trial:
            return
        kept = {} if not names else results.load()[1]
        results.save(kept | found)
    page.write()
    click.echo("Updated docs/clients.md.")


def run_all(clients: list[Client]) -> dict[str, Result]:
    found = {}
    with ProgressBar() as progress, ThreadPoolExecutor(AT_ONCE) as pool:
        progress.add_steps(len(clients))
        progress.describe("starting servers")
        with scenarios.site(refusals.record()) as site:
            progress.describe("running clients")
            running = [pool.submit(scenarios.run, client, site) for client in clients]
            try:
                for done in as_completed(running):
                    result = done.result()
                    found[result.client] = result
                    progress.finish_step(summary(result))
            finally:
                # After Ctrl-C, no other client starts.
                pool.shutdown(cancel_futures=True)
    return found


def summary(result: Result) -> str:
    """Return one line for the terminal."""
    if result.not_run:
        return f"{result.client}: not run: {result.not_run}"
    line = f"{result.client} {result.version}: "
    if result.calls[DEFAULT].accepted:
        return line + "works out of the box"
    differences = " ".join(result.calls[DEFAULT].differences)
    if result.variant == SETTINGS:
        return line + f"works with settings; out of the box: {differences}"
    return line + f"refused: {differences}"


if __name__ == "__main__":
    main(prog_name="python -m clients")
