"""`readback probe`: why does my connection not work?

Only what a command line is about lives here: options, where the key comes from, and
the exit code. The steps and what they say are in `readback.probe`.
"""

import io
import os
import re
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from typing import IO, TYPE_CHECKING

import click

from readback.keys import PREFIX

if TYPE_CHECKING:
    from readback.probe.output import Display
    from readback.probe.report import Report

_VARIABLE = "READBACK_API_KEY"
_SHORTEST_WATCH = 5
# Another service's key, alone or as the value of an option.
_KEY_LIKE = re.compile(r"(--?[\w-]+=)?sk-[\w-]{16,}")


class _Discreet(click.Command):
    """A command whose complaints do not repeat a key that was typed by mistake."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(PREFIX in arg or _KEY_LIKE.fullmatch(arg) for arg in args):
            raise click.UsageError(
                "A key does not belong on the command line, where others can read it: "
                f"set {_VARIABLE} or use --key-file, and revoke this one.",
                ctx,
            )
        return super().parse_args(ctx, args)


@click.command(cls=_Discreet)
@click.argument("base_url")
@click.option(
    "--key-file",
    type=click.File(encoding="utf-8"),
    help=f"A file with the key, - for standard input; else {_VARIABLE}, else asked.",
)
@click.option(
    "--cabinet", metavar="URL", help="The cabinet; else the service names it."
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
    help="Repeat that often, and draw the latency; Ctrl-C ends it.",
)
@click.option(
    "--as",
    "library",
    type=click.Choice(["openai"]),
    help="Make the call through this package, too.",
)
@click.option("--json", "form", flag_value="json", help="One line of JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="For a ticket.")
@click.pass_context
def probe(
    context: click.Context,
    base_url: str,
    key_file: IO[str] | None,
    cabinet: str | None,
    timeout: float,
    watch: float | None,
    library: str | None,
    form: str | None,
) -> None:
    """Find out why a connection to BASE_URL does not work.

    Walks from the address to the text that comes back, and says what works, what does
    not, and what to do. Sends at most 60 requests. The exit code is 0 if all is well,
    and one per family of failure: see the documentation.
    """
    from readback.probe import watch as watching
    from readback.probe.scene import Scene
    from readback.probe.secret import Secret
    from readback.probe.walk import OPENAI, STEPS, walk

    if watch and form == "markdown":
        raise click.UsageError("--markdown is one report: leave --watch out.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A report with a few odd characters is better than none.
        sys.stdout.reconfigure(errors="replace")
    secret = Secret(_key(key_file))
    steps = (*STEPS, OPENAI) if library else STEPS
    displays = _displays(form)

    def once() -> "Report":
        scene = Scene(base_url, secret, timeout, cabinet)
        return walk(scene, steps, next(displays))

    context.exit(watching.repeat(once, watch) if watch else once().family)


def _key(file: IO[str] | None) -> str:
    """Get the key from where nobody else can read it; empty if there is none."""
    if file:
        # A text file ends in a line end; any other white space is a slip to be told.
        return file.read().removesuffix("\n").removesuffix("\r")
    if _VARIABLE in os.environ or not sys.stdin.isatty():
        return os.environ.get(_VARIABLE, "")
    answer: str = click.prompt(
        "Key (it is not shown)",
        default="",
        show_default=False,
        hide_input=True,
        err=True,
    )
    return answer


def _displays(form: str | None) -> Iterator["Display"]:
    """Give the display of the first walk, then those of its repetitions."""
    from readback.probe.output import forms
    from readback.probe.output.document import Document
    from readback.probe.output.plain import Plain
    from readback.probe.output.terminal import Terminal
    from readback.probe.watch import Trend

    if form:
        return repeat(Document(forms.as_json if form == "json" else forms.as_markdown))
    first = Terminal() if sys.stdout.isatty() else Plain()
    return chain([first], repeat(Trend()))
