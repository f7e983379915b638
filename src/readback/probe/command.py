"""The command line of the probe: its options, its output, its signals, its exit code.

`readback probe` and the file that the cabinet hands out both start here, so nothing but
the standard library is imported before the options are known. An argument that is
refused is not repeated in the message: it could be a key.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from errno import EPIPE
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from readback.keys import KEY_LIKE, PREFIX
from readback.probe import language
from readback.probe.common import INTERRUPTED, background

if TYPE_CHECKING:
    from readback.probe.comparison import FinishedRun
    from readback.probe.report import ProbeReport

DEFAULT_VARIABLE = "READBACK_API_KEY"
_SHORTEST_WATCH = 5
_LONGEST_SECONDS = 86_400
# Not 5 s: at that moment many servers close a connection.
_IDLE_SECONDS = 4.5
_STOPPED = 1
_NOT_WRITTEN = "The report cannot be written: {}."
_OPTION = re.compile("--?[a-z][a-z-]*")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class KeySafeParser(argparse.ArgumentParser):
    """A parser whose messages never repeat a key that was passed by mistake."""

    def error(self, message: str) -> NoReturn:
        super().error(language.say(message))

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        # The value of an option may be a key, too.
        values = [one.partition("=")[2] if one[:1] == "-" else one for one in arguments]
        is_key = any(map(KEY_LIKE.fullmatch, values))
        if is_key or any(PREFIX in one for one in arguments):
            self.error(
                "An argument looks like a key. Other users of this machine can see the "
                "command line, so revoke that key. Pass a key in "
                f"{DEFAULT_VARIABLE} or with --key-file."
            )
        options, unknown = self.parse_known_args(arguments)
        if not unknown:
            return options
        names = [one.partition("=")[0] for one in unknown if one.startswith("-")]
        known = "see --help for the options"
        if names and _OPTION.fullmatch(names[0]):
            self.error(f"There is no option {names[0]}; {known}.")
        self.error(f"There are more arguments than one address; {known}.")


def _seconds(least: float) -> Callable[[str], float]:
    """Return a type of option: a number of seconds, at least this many."""

    def convert(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = float("nan")
        # Written so that it is also true for "nan".
        if not least <= seconds <= _LONGEST_SECONDS:
            raise argparse.ArgumentTypeError(
                f"expected a number of seconds from {least:g} to {_LONGEST_SECONDS}"
            )
        return seconds

    return convert


def _name(text: str) -> str:
    """Return the text; raise an error if it is empty, as an unset variable is."""
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a name")
    return text


# What each option is for, by its name and, if it has one, the word for its value.
_PURPOSES = {
    "--key-file FILE": "Read the key from this file; - means standard input.",
    "--key-env NAME": "Read the key from the environment variable with this name. "
    f"Default: {DEFAULT_VARIABLE}, or a prompt.",
    "--cabinet URL": "The address of the cabinet. Default: the one the service names.",
    "--timeout SECONDS": "How long to wait in each step. Default: 10.",
    "--chat MODEL": "Also ask this model for a short completion, in one piece and "
    "streamed. The service may charge for it. Not for a Readback, where every run does "
    "so.",
    "--compare READBACK_URL": "Also test this Readback, with the key in "
    f"{DEFAULT_VARIABLE}, and say where the two differ. The key for BASE_URL then "
    "comes from --key-file, --key-env or a prompt.",
    "--idle SECONDS": "How long to leave a connection idle before it is used again; 0 "
    f"skips this step. Default: {_IDLE_SECONDS}.",
    "--report FILE": "Also write the report to this file, as an HTML page for a "
    "ticket.",
    "--language": "The language of the report. Default: that of the terminal; English "
    "in JSON.",
    "--watch SECONDS": "Repeat at this interval and chart the latency; stop with "
    "Ctrl-C.",
    "--run": "Also send requests with the programs on this machine: curl, node, go, "
    "java, Python.",
}
_VALUES: dict[str, dict[str, Any]] = {
    "--timeout": {"type": _seconds(0.1), "default": 10.0},
    "--chat": {"type": _name},
    "--idle": {"type": _seconds(0.0), "default": _IDLE_SECONDS},
    "--report": {"type": _name},
    "--language": {"choices": language.LANGUAGES},
    "--watch": {"type": _seconds(_SHORTEST_WATCH)},
    "--run": {"action": "store_true"},
}


def command_line(program: str) -> KeySafeParser:
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
    parser.add_argument("base_url", metavar="BASE_URL", help="The address of the API.")
    for option, purpose in _PURPOSES.items():
        name, _, value = option.partition(" ")
        added = parser.add_argument(name, help=purpose, **_VALUES.get(name, {}))
        added.metavar = value or None
    form = parser.add_mutually_exclusive_group()
    for name, purpose in (
        ("json", "Print the report as one line of JSON."),
        ("markdown", "Print the report as Markdown, for a ticket."),
        ("short", "Print a summary that fits a chat message."),
    ):
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, help=purpose
        )
    for action in parser._actions:
        action.help = language.say(action.help or "")
    parser.description = language.say(parser.description or "")
    parser.epilog = language.say(parser.epilog or "")
    return parser


def main(arguments: list[str] | None = None, program: str = "readback probe") -> int:
    """Run the probe with these arguments and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    language.use(language.wanted(given, os.environ))
    parser = command_line(program)
    options = parser.parse(given)
    if options.watch and options.compare:
        parser.error("--compare prints a single comparison; omit --watch.")
    if options.watch and options.form in ("markdown", "short"):
        parser.error(f"--{options.form} prints a single report; omit --watch.")
    if options.report:  # Before the run takes time.
        try:
            with open(options.report, "ab"):
                pass
        except OSError as error:
            parser.error(f"The file of --report cannot be written: {error.strerror}.")
    code = _ending_with_a_sentence(lambda: _run(options, _key(options, parser)))
    background.exit_if_running(code)
    return code


def _write(file: str, page: str) -> None:
    with open(file, "w", encoding="utf-8") as opened:
        opened.write(page)


def _ending_with_a_sentence(run: Callable[[], int]) -> int:
    """Return the exit code of the run; nothing ends it with a traceback."""
    from readback.probe.output.console import tolerate_encoding

    # A report with a few replaced characters is better than none.
    tolerate_encoding(sys.stdout)
    tolerate_encoding(sys.stderr)
    if sys.stdout is None:
        _complain(_NOT_WRITTEN.format("standard output is closed"))
        return _STOPPED
    try:
        with signals_interrupt():
            return run()
    except KeyboardInterrupt:
        _complain("Stopped.")
        return INTERRUPTED
    except EOFError:
        _complain("Stopped.")
    except ImportError as error:
        # A Python that was built without OpenSSL has no ssl module, for example.
        _complain(f"This Python lacks the module {error.name}.")
    except OSError as error:  # The steps handle their own.
        if error.errno != EPIPE:  # Otherwise the reader has seen enough.
            _complain(_NOT_WRITTEN.format(error.strerror))
        # Python would try to write the rest when it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:  # Only a mistake of the probe can end here.
        from readback.probe.common.results import FailureFamily
        from readback.probe.runner import origin

        _complain(f"The probe ended with an error of its own: {origin(error)}.")
        return FailureFamily.PROBE
    return _STOPPED


def _complain(sentence: str) -> None:
    print(language.say(sentence), file=sys.stderr)


def _key(options: argparse.Namespace, parser: KeySafeParser) -> str:
    from readback.probe.entered.key import key_from_environment_or_prompt, key_from_file

    if options.key_file:
        try:
            return key_from_file(options.key_file)
        except OSError as error:
            parser.error(f"The file with the key cannot be read: {error.strerror}.")
    if options.key_env and options.key_env not in os.environ:
        parser.error(
            "--key-env expects the name of an environment variable that is set, such "
            "as OPENAI_API_KEY, without a dollar sign."
        )
    # In a comparison, the default variable has the key of the other address.
    default = None if options.compare else DEFAULT_VARIABLE
    return key_from_environment_or_prompt(options.key_env or default)


def _run(options: argparse.Namespace, key: str) -> int:
    from readback.probe import watch
    from readback.probe.comparison import FinishedRun
    from readback.probe.entered.key import Secret
    from readback.probe.output import page
    from readback.probe.output.console import ProgressLine, is_terminal
    from readback.probe.runner import run_probe
    from readback.probe.steps import RUN_PROGRAMS, STEPS
    from readback.probe.transport.context import ProbeContext

    steps = (*STEPS, RUN_PROGRAMS) if options.run else STEPS
    progress = ProgressLine(next(filter(is_terminal, (sys.stdout, sys.stderr)), None))
    show = _output(options.form)

    def run(url: str, key: str) -> FinishedRun:
        settings = (options.timeout, options.cabinet, options.chat, options.idle)
        context = ProbeContext(url, Secret(key), *settings)
        report = run_probe(context, steps, progress)
        results = language.localized_results(report.results)
        return FinishedRun(context, replace(report, results=results))

    written: ProbeReport | None = None

    def once() -> ProbeReport:
        nonlocal written
        report = run(options.base_url, key).report
        # With --watch, the page of the first failure stays, like its exit code.
        is_final = written and (written.failure or report.interrupted)
        if options.report and not is_final:
            _write(options.report, page.as_page(report))
            written = report
        show(report)
        return report

    if options.compare:
        return _compare(options, key, run)
    return watch.repeat(once, options.watch) if options.watch else once().family


def _compare(
    options: argparse.Namespace, key: str, run: Callable[[str, str], FinishedRun]
) -> int:
    """Test both addresses, each with its own key; the exit code is the first one's."""
    from readback.probe.comparison import Comparison
    from readback.probe.output import page
    from readback.probe.output.formats import FORMS, show_comparison

    first = run(options.base_url, key)
    if first.report.interrupted:
        _output(options.form)(first.report)
        return first.report.family
    second = run(options.compare, os.environ.get(DEFAULT_VARIABLE, ""))
    both = Comparison((first, second))
    if options.report:
        _write(options.report, page.comparison_as_page(both))
    if options.form:
        print(FORMS[options.form][1](both), flush=True)
    else:
        show_comparison(both, _show)
    return (second if second.report.interrupted else first).report.family


def _output(form: str | None) -> Callable[[ProbeReport], None]:
    """Return the function that prints the report of each run."""
    from readback.probe.output.formats import FORMS
    from readback.probe.watch import Trend

    if form is None:
        return Trend(_show).show
    return lambda report: print(FORMS[form][0](report), flush=True)


def _show(report: ProbeReport) -> None:
    from readback.probe.output.console import is_terminal
    from readback.probe.output.formats import as_text

    # Without TERM, nothing is known about the terminal, except on Windows.
    is_known = os.name == "nt" or os.environ.get("TERM")
    if is_known and is_terminal(sys.stdout):
        try:
            from readback.probe.output import terminal

            terminal.show(report)
            return
        except OSError:
            raise
        except Exception:  # rich is missing, or cannot handle this terminal.
            pass
    print(as_text(report), flush=True)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt for the first of the signals; the next one kills."""
    # A signal that was ignored from the start, as nohup does, stays ignored.
    handled = [one for one in _SIGNALS if signal.getsignal(one) != signal.SIG_IGN]

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = [signal.signal(one, interrupt) for one in handled]
    try:
        yield
    finally:
        for one, handler in zip(handled, before):  # noqa: B905
            signal.signal(one, handler)
