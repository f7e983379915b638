"""The command line of the soak: `python -m soak`."""

import signal
import sys

import click
from bench import load
from bench.progress import ProgressBar
from bench.single_worker import POSTGRESQL, SQLITE

from soak import page, runner, verdicts
from soak.schedule import SHORTEST_FAULTS
from soak.verdicts import Judgement

# All answers are kept until they are judged: about 10 MB for each minute.
MAX_MINUTES = 240
# How many details of a broken promise are printed; the results contain more.
_DETAILS_SHOWN = 5
_WORDS = {True: "kept", False: "BROKEN", None: "?"}


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=(SHORTEST_FAULTS + 4) / 60, max=MAX_MINUTES),
    default=10.0,
    show_default=True,
    help="How long to send requests.",
)
@click.option(
    "--sqlite",
    "database",
    flag_value=SQLITE,
    help="Use SQLite, which is locked from time to time, instead of PostgreSQL.",
)
@click.option(
    "--publish",
    is_flag=True,
    help="Save the results in bench/results instead of .bench/results, and write them "
    "into bench/README.md.",
)
@click.pass_context
def main(
    context: click.Context, minutes: float, database: str | None, publish: bool
) -> None:
    """Check that Readback keeps its promises while everything around it breaks.

    Clients send random texts over hundreds of connections to two workers. Meanwhile
    the service is reloaded every ten seconds, workers are killed, and the database
    goes away and comes back. At the end every promise is judged. The exit code is 1 if
    one is broken. Ctrl-C ends the run early and judges what there is.

    Runs of an hour or more also judge whether memory grows.
    """
    if context.invoked_subcommand:
        return
    if not sys.platform.startswith("linux"):
        raise click.ClickException("This needs Linux: it reads /proc.")
    load.raise_file_limit()
    # However this process ends, it must not leave a frozen database behind.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    name = database or POSTGRESQL
    with ProgressBar() as progress:
        seen, scene = runner.run(name, minutes * 60, progress)
        progress.describe("judging")
        judgement = verdicts.judge(seen, scene)
    report(judgement)
    published = publish and not scene.interrupted
    page.save(name, judgement, scene, published)
    if published:
        page.write()
        click.echo("Updated bench/README.md and its picture.")
    else:
        click.echo(f"The picture is {page.PICTURE_OF_TRIAL}.")
    if judgement.broken:
        broken = "\n".join(f"- {verdict.promise}" for verdict in judgement.broken)
        raise click.ClickException(f"these promises were not kept:\n{broken}")
    if scene.interrupted:
        context.exit(130)


@main.command("render")
def render() -> None:
    """Write bench/README.md and its picture from the published results."""
    page.write()
    click.echo("Updated bench/README.md and its picture.")


def report(judgement: Judgement) -> None:
    """Print the figures and every verdict."""
    figures = judgement.figures
    click.echo(
        f"{figures['seconds']:.0f} s, {figures['answers']:,} answers, "
        f"{figures['connections']:,} connections, {figures['reloads']} reloads, "
        f"{figures['kills']} kills, {figures['outages']} outages of the database"
    )
    for verdict in judgement.verdicts:
        click.echo(f"{_WORDS[verdict.kept]:8}{verdict.promise}")
        click.echo(f"        {verdict.measured}")
        if verdict.kept is False:
            for detail in verdict.details[:_DETAILS_SHOWN]:
                click.echo(f"        - {detail}")
            if len(verdict.details) > _DETAILS_SHOWN:
                click.echo(
                    f"        - and {len(verdict.details) - _DETAILS_SHOWN} more"
                )


if __name__ == "__main__":
    main(prog_name="python -m soak")
