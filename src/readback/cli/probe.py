"""`readback probe`: find out why a connection does not work.

This module contains only the command line: options, the source of the key, and the
exit code. The steps and their texts are in `readback.probe`.
"""

import io
import os
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from typing import IO, TYPE_CHECKING

import click

from readback.keys import KEY_LIKE, PREFIX

if TYPE_CHECKING:
    from readback.probe.output import Display
    from readback.probe.report import ProbeReport

_VARIABLE = "READBACK_API_KEY"
_SHORTEST_WATCH = 5


class _KeySafeCommand(click.Command):
    """A command whose error messages never repeat a key passed by mistake."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(PREFIX in arg or _is_key_like(arg) for arg in args):
            raise click.UsageError(
                "An argument looks like a key. Other users of this machine can see the "
                "command line, so revoke that key. Pass a key in "
                f"{_VARIABLE} or with --key-file.",
                ctx,
            )
        return super().parse_args(ctx, args)


def _is_key_like(argument: str) -> bool:
    """Return whether an argument, or the value of an option, looks like a key."""
    value = argument.partition("=")[2] if argument.startswith("-") else argument
    return bool(KEY_LIKE.fullmatch(value))


@click.command(cls=_KeySafeCommand)
@click.argument("base_url")
@click.option(
    "--key-file",
    type=click.File(encoding="utf-8"),
    help=f"Read the key from this file, - for standard input. Default: {_VARIABLE}, "
    "or a prompt.",
)
@click.option(
    "--cabinet",
    metavar="URL",
    help="The address of the cabinet. Default: the one the service names.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait in each step.",
)
@click.option(
    "--watch",
    type=click.FloatRange(min=_SHORTEST_WATCH),
    metavar="SECONDS",
    help="Repeat at this interval and chart the latency; stop with Ctrl-C.",
)
@click.option(
    "--run",
    "run_programs",
    is_flag=True,
    help="Also ask through the programs on this machine: curl, node, go, java, Python.",
)
@click.option(
    "--json", "form", flag_value="json", help="Print the report as one line of JSON."
)
@click.option(
    "--markdown",
    "form",
    flag_value="markdown",
    help="Print the report as Markdown, for a ticket.",
)
@click.pass_context
def probe(
    click_context: click.Context,
    base_url: str,
    key_file: IO[str] | None,
    cabinet: str | None,
    timeout: float,
    watch: float | None,
    run_programs: bool,
    form: str | None,
) -> None:
    """Find out why a connection to BASE_URL does not work.

    Tests every step from the address to the returned text, and reports what works,
    what fails and how to fix it. Sends at most 60 requests. The exit code is 0 if
    everything works; otherwise it tells the kind of failure (see docs/cli.md).
    """
    from readback.probe import watch as watching
    from readback.probe.context import ProbeContext
    from readback.probe.entered.secret import Secret
    from readback.probe.runner import RUN_PROGRAMS, STEPS, run_probe

    if watch and form == "markdown":
        raise click.UsageError("--markdown prints a single report; omit --watch.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A report with a few replaced characters is better than none.
        sys.stdout.reconfigure(errors="replace")
    secret = Secret(_key(key_file))
    steps = (*STEPS, RUN_PROGRAMS) if run_programs else STEPS
    displays = _displays(form)

    def once() -> "ProbeReport":
        context = ProbeContext(base_url, secret, timeout, cabinet)
        return run_probe(context, steps, next(displays))

    click_context.exit(watching.repeat(once, watch) if watch else once().family)


def _key(file: IO[str] | None) -> str:
    """Return the key from the file, the environment or a prompt, or "" if none."""
    if file:
        # A text file ends with a newline; other whitespace is a mistake to report.
        return file.read().removesuffix("\n").removesuffix("\r")
    if _VARIABLE in os.environ or not sys.stdin.isatty():
        return os.environ.get(_VARIABLE, "")
    answer: str = click.prompt(
        "Key (hidden)",
        default="",
        show_default=False,
        hide_input=True,
        err=True,
    )
    return answer


def _displays(form: str | None) -> Iterator["Display"]:
    """Yield the display of the first run, then those of its repetitions."""
    from readback.probe.output import formats
    from readback.probe.output.final_report import FinalReportDisplay
    from readback.probe.output.plain import PlainDisplay
    from readback.probe.output.terminal import TerminalDisplay
    from readback.probe.watch import TrendDisplay

    if form:
        render = formats.as_json if form == "json" else formats.as_markdown
        return repeat(FinalReportDisplay(render))
    first = TerminalDisplay() if sys.stdout.isatty() else PlainDisplay()
    return chain([first], repeat(TrendDisplay()))
