"""The command line of the benchmark: `python -m bench`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from bench import flood as flood_benchmark
from bench import goals, latency, load, plan, render, rules, sizes
from bench import instructions as instructions_benchmark
from bench.comparison import LIMIT, Comparison
from bench.install import require_program
from bench.peer import load_peers
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.single_worker import POSTGRESQL, SQLITE

quick_option = click.option(
    "--quick",
    is_flag=True,
    help="Take a second or so for each measurement, to see that everything works. The "
    "results go to .bench/results; the published ones do not change.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure how fast Readback is.

    Run it from the project's folder, on a Linux machine with at least two cores that
    does nothing else. bench/README.md explains the figures.
    """


@main.command()
@quick_option
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    type=click.Choice([*load_peers(), sizes.NAME, latency.NAME]),
    help="Measure only this peer (and nginx, to compare with; the results go to "
    f".bench/results), only the longest texts ({sizes.NAME}), or only {latency.NAME}. "
    f"Repeatable. Peers: {', '.join(load_peers())}.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="Number of rounds.")
def peers(quick: bool, only: tuple[str, ...], rounds: int | None) -> None:
    """Compare Readback with its peers and check the goals.

    Takes about 20 minutes, four of them for the latency at a fixed rate. Installs what
    is missing, or says what to install. Results are saved after each measurement, so
    you can stop at any time. A complete run updates bench/results, two pages and the
    README.
    """
    chosen_plan = plan.QUICK if quick else plan.FULL
    if rounds:
        steady_rounds = min(rounds, chosen_plan.steady_rounds)
        chosen_plan = replace(chosen_plan, rounds=rounds, steady_rounds=steady_rounds)
    with measuring("Stopped; the results so far are saved.") as progress:
        require_program("wrk", "wrk")
        compare(chosen_plan, only, progress)
        if not only or sizes.NAME in only:
            sizes.measure(chosen_plan, progress, published=not quick)
        if not only or latency.NAME in only:
            latency.measure(load_peers(), chosen_plan, not quick, progress)
    click.echo("The goals, according to all results so far:")
    for line in goals.report(published=not quick):
        click.echo(line)
    if not quick:
        render.write_comparison()


@main.command()
def instructions() -> None:
    """Count the instructions per request with valgrind.

    Takes about two minutes, and other programs may run meanwhile. Updates
    bench/results/instructions.json and bench/README.md.
    """
    with measuring("Stopped; nothing was saved.") as progress:
        require_program("valgrind", "valgrind")
        instructions_benchmark.measure(progress)
    render.write_comparison()


@main.command("rules")
def check_rules() -> None:
    """Run the conformance tests on each peer and print the rules that it misses.

    Takes about five minutes, and other programs may run meanwhile. Updates
    bench/results/rules.json, two pages and the README.
    """
    with measuring("Stopped; the results so far are saved.") as progress:
        rules.measure(load_peers().values(), progress)
    render.write_comparison()


def compare(chosen_plan: Plan, only: tuple[str, ...], progress: ProgressBar) -> None:
    """Compare the chosen peers, or all if none is chosen, with nginx as the limit."""
    known = load_peers()
    wanted = set(only or known) & known.keys()
    if not wanted:
        return
    require_program(LIMIT, LIMIT)
    chosen = [peer for peer in known.values() if peer.name in wanted | {LIMIT}]
    complete = len(chosen) == len(known)
    published = complete and not chosen_plan.quick
    Comparison(chosen, chosen_plan, progress, published).run()


@main.command()
@quick_option
@click.option("--rounds", type=click.IntRange(min=1), help="Number of rounds.")
@click.option(
    "--postgresql",
    "database",
    flag_value=POSTGRESQL,
    default=SQLITE,
    help="Measure on PostgreSQL instead of SQLite.",
)
def flood(database: str, quick: bool, rounds: int | None) -> None:
    """Measure a known key's latency during a flood of made-up keys.

    Takes about three minutes. Updates bench/results/flood.json and
    docs/performance.md.
    """
    chosen_plan = flood_benchmark.QUICK if quick else flood_benchmark.FULL
    if rounds:
        chosen_plan = replace(chosen_plan, rounds=rounds)
    with measuring("Stopped; nothing was saved.") as progress:
        found = flood_benchmark.measure(database, chosen_plan, not quick, progress)
    click.echo(flood_benchmark.table(found))
    if not quick:
        flood_benchmark.write_section()


@main.command("render", short_help="Write the results into the documentation.")
def render_all() -> None:
    """Write the published results into the documentation."""
    render.write_comparison()
    flood_benchmark.write_section()
    click.echo("Updated docs/performance.md, bench/README.md, the plot and README.md.")


@contextmanager
def measuring(if_stopped: str) -> Iterator[ProgressBar]:
    """Show progress, and `if_stopped` after Ctrl-C; stop the servers in any case."""
    if not sys.platform.startswith("linux"):
        raise click.ClickException("This needs Linux: it reads /proc and pins cores.")
    load.raise_file_limit()
    # SIGTERM would otherwise end this process without stopping the running server.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ProgressBar() as progress:
            yield progress
    except KeyboardInterrupt:
        raise click.ClickException(if_stopped) from None


if __name__ == "__main__":
    main(prog_name="python -m bench")
