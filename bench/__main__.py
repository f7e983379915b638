"""The command line of the benchmark: `python -m bench`."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import click
from tests.support import work as work_per_request

from bench import cabinet as cabinet_benchmark
from bench import fixed_rate as fixed_rate_load
from bench import (
    fleet_model,
    goals,
    load,
    plan,
    render,
    runs,
    scale_page,
    scale_plan,
    tls_load,
    traffic_page,
)
from bench import flood as flood_benchmark
from bench import growth as growth_benchmark
from bench import instructions as instructions_benchmark
from bench import scale as scale_benchmark
from bench import waiting as waiting_accounts
from bench.comparison import LIMIT, Comparison
from bench.fleet import hash_points
from bench.fleet_model import Demand, ImpossibleDemand
from bench.install import require_program
from bench.paths import ROOT
from bench.peer import load_peers
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.scenarios import SCENARIOS
from bench.single_worker import POSTGRESQL, SQLITE

quick_option = click.option(
    "--quick",
    is_flag=True,
    help="Take a second or so for each measurement, to see that everything works. The "
    "results go to .bench/results; the published ones do not change.",
)


def database_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that measures Readback on one kind of database."""
    for option in (
        click.option("--rounds", type=click.IntRange(min=1), help="Number of rounds."),
        click.option(
            "--seconds", type=click.IntRange(min=1), help="Duration of a measurement."
        ),
        quick_option,
        click.option(
            "--postgresql",
            "database",
            flag_value=POSTGRESQL,
            default=SQLITE,
            help="Measure on PostgreSQL instead of SQLite.",
        ),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure how fast Readback is.

    Run it from the project's folder, on a Linux machine with at least two cores that
    does nothing else. docs/performance.md explains the figures.
    """


@main.command()
@quick_option
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    type=click.Choice([*load_peers(), *SCENARIOS]),
    help="Measure only this peer (and nginx, to compare with; the results go to "
    ".bench/results) or this scenario of the goals (replaces its previous result). "
    f"Repeatable. Peers: {', '.join(load_peers())}. "
    f"Scenarios: {', '.join(SCENARIOS)}.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="Number of rounds.")
def peers(quick: bool, only: tuple[str, ...], rounds: int | None) -> None:
    """Compare Readback with its peers and check the goals.

    Takes about half an hour. Installs what is missing, or says what to install.
    Results are saved after each measurement, so you can stop at any time. A complete
    run updates bench/results, docs/performance*.md, docs/scale*.md and the README.
    """
    chosen_plan = plan.QUICK if quick else plan.FULL
    if rounds:
        chosen_plan = replace(chosen_plan, rounds=rounds)
    with measuring("Stopped; the results so far are saved.") as progress:
        require_program("wrk", "wrk")
        compare(chosen_plan, only, progress)
        if scenarios := [name for name in SCENARIOS if not only or name in only]:
            goals.measure(scenarios, chosen_plan, progress, published=not quick)
        if not only:
            count_instructions(chosen_plan, progress)
            runs.record(goals.Measurements(published=not quick), published=not quick)
    click.echo("The goals, according to all results so far:")
    for line in goals.report(published=not quick):
        click.echo(line)
    if not quick:
        write_comparison()
        scale_page.write()  # which takes some costs from the peers


@main.command()
@quick_option
@click.option("--rounds", type=click.IntRange(min=1), help="Number of rounds.")
def ratios(quick: bool, rounds: int | None) -> None:
    """Measure only the ratios to nginx, as one more run.

    Takes about five minutes. Adds a row to bench/results/runs.json and to
    docs/performance-engineers.md; the comparison with the peers does not change.
    """
    chosen_plan = plan.QUICK if quick else plan.FULL
    if rounds:
        chosen_plan = replace(chosen_plan, rounds=rounds)
    with measuring("Stopped; no run was added.") as progress:
        require_program("wrk", "wrk")
        compare(chosen_plan, runs.PEERS, progress)
        goals.measure(runs.SCENARIOS, chosen_plan, progress, published=False)
        run = runs.record(goals.Measurements(published=False), published=not quick)
    click.echo(runs.table([run]))
    if not quick:
        runs.write_section()


@main.command()
@quick_option
def instructions(quick: bool) -> None:
    """Count the instructions per request with valgrind.

    Takes about four minutes, and other programs may run meanwhile. Updates
    bench/results/instructions.json and docs/performance-engineers.md.
    """
    chosen_plan = plan.QUICK if quick else plan.FULL
    with measuring("Stopped; the results so far are saved.") as progress:
        require_program(LIMIT, LIMIT)
        count_instructions(chosen_plan, progress)
    if not quick:
        write_comparison()


def count_instructions(chosen_plan: Plan, progress: ProgressBar) -> None:
    instructions_benchmark.measure(
        list(load_peers().values()),
        chosen_plan.counted_requests,
        not chosen_plan.quick,
        progress,
    )


def write_comparison() -> None:
    """Write everything that a run of the peers updates."""
    render.write_comparison()
    traffic_page.write_sections()
    runs.write_section()


def compare(chosen_plan: Plan, only: tuple[str, ...], progress: ProgressBar) -> None:
    """Compare the chosen peers with the limit; all of them if none is chosen."""
    known = load_peers()
    wanted = set(only or known) & known.keys()
    if not wanted:
        return
    require_program(LIMIT, LIMIT)
    chosen = [peer for peer in known.values() if peer.name in wanted | {LIMIT}]
    complete = len(chosen) == len(known)
    published = complete and not chosen_plan.quick
    Comparison(chosen, chosen_plan, progress, published).run()


def measure_on_database(
    benchmark: ModuleType, database: str, quick: bool, options: dict[str, int | None]
) -> None:
    """Run one of the benchmarks that have these options, print and publish it."""
    base = benchmark.QUICK if quick else benchmark.FULL
    given = {name: value for name, value in options.items() if value is not None}
    with measuring("Stopped; nothing was saved.") as progress:
        found = benchmark.measure(database, replace(base, **given), not quick, progress)
    click.echo(benchmark.table(found))
    if not quick:
        benchmark.write_section()


@main.command()
@database_options
@click.option(
    "--rate", type=click.IntRange(min=50), help="Requests of the flood per second."
)
def flood(database: str, quick: bool, **options: int | None) -> None:
    """Measure a known key's latency during a flood of made-up keys.

    Takes about three minutes. Updates bench/results/flood.json and
    docs/performance-loads.md.
    """
    measure_on_database(flood_benchmark, database, quick, options)


@main.command()
@database_options
def growth(database: str, quick: bool, **options: int | None) -> None:
    """Measure a worker with up to a million keys in the database.

    Takes about two minutes. Updates bench/results/growth.json and
    docs/performance-loads.md.
    """
    measure_on_database(growth_benchmark, database, quick, options)


@main.command()
@database_options
def cabinet(database: str, quick: bool, **options: int | None) -> None:
    """Measure the cabinet's pages while up to 1,000 accounts wait.

    Takes about four minutes. Updates bench/results/cabinet.json and
    docs/performance-loads.md.
    """
    measure_on_database(cabinet_benchmark, database, quick, options)


@main.command()
@quick_option
@click.option(
    "--model", is_flag=True, help="Measure nothing; compute from the published figures."
)
@click.option(
    "--rate", type=click.FloatRange(min=1), help="With --model: requests per second."
)
@click.option(
    "--keys",
    type=click.FloatRange(min=1),
    help="With --model: keys in use; one for ten requests per second if omitted.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=fleet_model.MACHINE_CORES,
    show_default=True,
    help="With --model: workers and cores of a replica.",
)
def scale(
    quick: bool, model: bool, rate: float | None, keys: float | None, workers: int
) -> None:
    """Measure what a fleet costs, check the model, and compute fleets.

    Takes about five minutes. Updates bench/results/scale.json and docs/scale*.md.
    """
    if model:
        click.echo(compute_fleet(rate, keys, workers))
        return
    if rate or keys:
        raise click.UsageError("--rate and --keys require --model.")
    chosen_plan = scale_plan.QUICK if quick else scale_plan.FULL
    with measuring("Stopped; nothing was saved.") as progress:
        found = scale_benchmark.measure(chosen_plan, not quick, progress)
    click.echo(scale_page.check(found["fleets"]))
    if not quick:
        scale_page.write()


def compute_fleet(rate: float | None, keys: float | None, workers: int) -> str:
    """Return the table of a fleet, or of the published sizes if no rate is given."""
    figures = scale_page.published_figures()
    if rate is None:
        return scale_page.answer(figures)
    demand = Demand.usual(rate, keys or 0, workers=workers, hash_points=hash_points())
    try:
        return scale_page.fleet_table(figures, {f"{rate:,.0f}/s": demand})
    except ImpossibleDemand as error:
        raise click.ClickException(str(error)) from None


@main.command(short_help="Count and record the work per request.")
@click.option("--dry-run", is_flag=True, help="Only print the figures.")
def work(dry_run: bool) -> None:
    """Count the work per request and record it for this version of Python.

    A test fails if a request takes over a tenth more work than is recorded. Record new
    figures in the same commit as the change that is worth them.
    """
    click.echo("Counting function calls, bytecode instructions and memory.")
    counted = work_per_request.count()
    for name, figures in counted.items():
        listed = ", ".join(f"{value:g} {unit}" for unit, value in figures.items())
        click.echo(f"{name}: {listed}")
    if not dry_run:
        work_per_request.record(counted)
        path = work_per_request.RECORD.relative_to(ROOT)
        click.echo(f"Recorded for Python {work_per_request.VERSION} in {path}.")


@main.command("render", short_help="Write the results into the documentation.")
def render_all() -> None:
    """Write the published results into the documentation."""
    write_comparison()
    flood_benchmark.write_section()
    growth_benchmark.write_section()
    cabinet_benchmark.write_section()
    scale_page.write()
    click.echo("Updated docs/performance*.md, docs/scale*.md, the plots and README.md.")


@main.command("fixed-rate", hidden=True)
@click.option("--port", type=int, required=True)
@click.option("--rate", type=float, required=True)
@click.option("--seconds", type=float, required=True)
@click.option("--connections", type=int, required=True)
def fixed_rate(port: int, rate: float, seconds: float, connections: int) -> None:
    """Send the request on standard input at a constant rate; print JSON."""
    request = sys.stdin.buffer.read()
    result = fixed_rate_load.measure(port, request, rate, seconds, connections)
    click.echo(json.dumps(result))


@main.command("tls-connections", hidden=True)
@click.option("--port", type=int, required=True)
@click.option("--seconds", type=float, required=True)
@click.option("--resume", is_flag=True)
def tls_connections(port: int, seconds: float, resume: bool) -> None:
    """Send the request on standard input on new TLS connections; print JSON."""
    request = sys.stdin.buffer.read()
    click.echo(json.dumps(tls_load.measure(port, request, seconds, resume)))


@main.command(hidden=True)
@click.option("--port", type=int, required=True)
def waiting(port: int) -> None:
    """Let the accounts on standard input wait; report as JSON when asked."""
    waiting_accounts.run(port)


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
