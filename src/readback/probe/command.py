"""The command line of the probe: its options, its output and its exit code.

`readback probe` and the file that the cabinet hands out both start here, so nothing but
the standard library is imported before the options are known. An argument that is
refused is not repeated in the message: it could be a key.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from errno import EPIPE
from itertools import chain, repeat
from typing import TYPE_CHECKING, NoReturn

from readback.keys import KEY_LIKE, PREFIX

if TYPE_CHECKING:
    from readback.probe.output import Display
    from readback.probe.report import ProbeReport

DEFAULT_VARIABLE = "READBACK_API_KEY"
_SHORTEST_WATCH = 5
_LONGEST_SECONDS = 86_400
_STOPPED = 1
_OPTION = re.compile("--?[a-z][a-z-]*")


class KeySafeParser(argparse.ArgumentParser):
    """A parser whose messages never repeat a key that was passed by mistake."""

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        if any(PREFIX in one or _is_key_like(one) for one in arguments):
            self.error(
                "An argument looks like a key. Other users of this machine can see the "
                "command line, so revoke that key. Pass a key in "
                f"{DEFAULT_VARIABLE} or with --key-file."
            )
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self._refuse(unknown)
        return options

    def _refuse(self, unknown: list[str]) -> NoReturn:
        names = [one.partition("=")[0] for one in unknown if one.startswith("-")]
        known = "see --help for the options"
        if names and _OPTION.fullmatch(names[0]):
            self.error(f"There is no option {names[0]}; {known}.")
        self.error(f"There are more arguments than one address; {known}.")


def _is_key_like(argument: str) -> bool:
    """Return whether an argument, or the value of an option, looks like a key."""
    value = argument.partition("=")[2] if argument.startswith("-") else argument
    return bool(KEY_LIKE.fullmatch(value))


def _seconds(least: float) -> Callable[[str], float]:
    """Return a type of option: a number of seconds, at least this many."""

    def convert(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        # Written so that it is also true for "nan".
        if not least <= seconds <= _LONGEST_SECONDS:
            raise argparse.ArgumentTypeError(
                f"expected a number of seconds from {least:g} to {_LONGEST_SECONDS}"
            )
        return seconds

    return convert


def command_line(program: str) -> KeySafeParser:
    """Return the parser of the command line."""
    parser = KeySafeParser(
        program,
        description="Find out why a connection to BASE_URL does not work. Tests every "
        "step from the address to the returned text, and reports what works, what "
        "fails and how to fix it. Sends at most 60 requests.",
        epilog="The exit code is 0 if everything works; otherwise it tells the kind of "
        "failure.",
        # An abbreviated option would be repeated in an error message with its value.
        allow_abbrev=False,
    )
    option = parser.add_argument
    option("base_url", metavar="BASE_URL", help="The address of the API.")
    option(
        "--key-file",
        metavar="FILE",
        help="Read the key from this file, - for standard input.",
    )
    option(
        "--key-env",
        metavar="NAME",
        help="Read the key from the environment variable with this name. Default: "
        f"{DEFAULT_VARIABLE}, or a prompt.",
    )
    option(
        "--cabinet",
        metavar="URL",
        help="The address of the cabinet. Default: the one the service names.",
    )
    option(
        "--timeout",
        type=_seconds(0.1),
        default=10.0,
        metavar="SECONDS",
        help="How long to wait in each step. Default: 10.",
    )
    option(
        "--watch",
        type=_seconds(_SHORTEST_WATCH),
        metavar="SECONDS",
        help="Repeat at this interval and chart the latency; stop with Ctrl-C.",
    )
    option(
        "--as",
        dest="library",
        choices=["openai"],
        help="Also make the call through this package.",
    )
    form = parser.add_mutually_exclusive_group().add_argument
    form(
        "--json",
        dest="form",
        action="store_const",
        const="json",
        help="Print the report as one line of JSON.",
    )
    form(
        "--markdown",
        dest="form",
        action="store_const",
        const="markdown",
        help="Print the report as Markdown, for a ticket.",
    )
    return parser


def main(arguments: list[str] | None = None, program: str = "readback probe") -> int:
    """Run the probe with these arguments and return its exit code."""
    parser = command_line(program)
    options = parser.parse(sys.argv[1:] if arguments is None else arguments)
    if options.watch and options.form == "markdown":
        parser.error("--markdown prints a single report; omit --watch.")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A report with a few replaced characters is better than none.
        sys.stdout.reconfigure(errors="replace")
    try:
        return _run(options, _key(options, parser))
    except (KeyboardInterrupt, EOFError):
        print("Stopped.", file=sys.stderr)
    except ImportError as error:
        # A Python that was built without OpenSSL has no ssl module, for example.
        print(f"This Python lacks the module {error.name}.", file=sys.stderr)
    except OSError as error:  # The steps handle their own.
        _end_output(error)
    return _STOPPED


def _key(options: argparse.Namespace, parser: KeySafeParser) -> str:
    from readback.probe.entered import key_source

    if options.key_file:
        try:
            return key_source.from_file(options.key_file)
        except OSError as error:
            parser.error(f"The file with the key cannot be read: {error.strerror}.")
    if options.key_env and options.key_env not in os.environ:
        parser.error(
            "--key-env expects the name of an environment variable that is set, such "
            "as OPENAI_API_KEY, without a dollar sign."
        )
    return key_source.from_environment_or_prompt(options.key_env or DEFAULT_VARIABLE)


def _run(options: argparse.Namespace, key: str) -> int:
    from readback.probe import watch
    from readback.probe.context import ProbeContext
    from readback.probe.entered.secret import Secret
    from readback.probe.runner import OPENAI, STEPS, run_probe

    secret = Secret(key)
    steps = (*STEPS, OPENAI) if options.library else STEPS
    displays = _displays(options.form)

    def once() -> ProbeReport:
        context = ProbeContext(
            options.base_url, secret, options.timeout, options.cabinet
        )
        return run_probe(context, steps, next(displays))

    return watch.repeat(once, options.watch) if options.watch else once().family


def _displays(form: str | None) -> Iterator[Display]:
    """Yield the display of the first run, then those of its repetitions."""
    from readback.probe.output import formats
    from readback.probe.output.final_report import FinalReportDisplay
    from readback.probe.output.plain import PlainDisplay
    from readback.probe.watch import TrendDisplay

    if form:
        render = formats.as_json if form == "json" else formats.as_markdown
        return repeat(FinalReportDisplay(render))
    if not (sys.stdout and sys.stdout.isatty()):
        return chain([PlainDisplay()], repeat(TrendDisplay()))
    from readback.probe.output.terminal import TerminalDisplay

    return chain([TerminalDisplay()], repeat(TrendDisplay()))


def _end_output(error: OSError) -> None:
    """Say why standard output cannot be written, and stop writing to it."""
    if error.errno != EPIPE:  # Otherwise the reader has seen enough.
        print(f"The report cannot be written: {error.strerror}.", file=sys.stderr)
    # Python would try to write the rest when it ends, and fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
