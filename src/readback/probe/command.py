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
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EPIPE
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from readback.keys import KEY_LIKE, PREFIX
from readback.probe.common import INTERRUPTED, background, catalogue
from readback.probe.common.catalogue import say

if TYPE_CHECKING:
    from readback.probe.report import ProbeReport

DEFAULT_VARIABLE = "READBACK_API_KEY"
KEY_VARIABLES = (DEFAULT_VARIABLE, "OPENAI_API_KEY")
URL_VARIABLE = "OPENAI_BASE_URL"
_LONGEST_SECONDS = 86_400
_STOPPED = 1
_NOT_WRITTEN = "The report cannot be written: {reason}."
_OPTION = re.compile("--?[a-z][a-z-]*")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class KeySafeParser(argparse.ArgumentParser):
    """A parser whose messages never repeat a key that was passed by mistake."""

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        # The value of an option may be a key, too.
        values = [one.partition("=")[2] if one[:1] == "-" else one for one in arguments]
        is_key = any(map(KEY_LIKE.fullmatch, values))
        if is_key or any(PREFIX in one for one in arguments):
            self.error(
                say(
                    "An argument looks like a key. Other users of this machine can see "
                    "the command line, so revoke that key. Pass a key in "
                    "READBACK_API_KEY or with --key-file."
                )
            )
        options, unknown = self.parse_known_args(arguments)
        if not unknown:
            return options
        names = [one.partition("=")[0] for one in unknown if one.startswith("-")]
        if names and _OPTION.fullmatch(names[0]):
            text = say("There is no option {name}; see --help for the options.")
            self.error(text.format(name=names[0]))
        self.error(say("There are more arguments than one address; see --help."))


def _seconds(least: float) -> Callable[[str], float]:
    """Return a type of option: a number of seconds, at least this many."""

    def convert(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = float("nan")
        # Written so that it is also true for "nan".
        if not least <= seconds <= _LONGEST_SECONDS:
            text = say("expected a number of seconds from {least} to {most}")
            facts = {"least": f"{least:g}", "most": _LONGEST_SECONDS}
            raise argparse.ArgumentTypeError(text.format(**facts))
        return seconds

    return convert


def _name(text: str) -> str:
    """Return the text; raise an error if it is empty, as an unset variable is."""
    if not text.strip():
        raise argparse.ArgumentTypeError(say("expected a name"))
    return text


# What each option is for, by its name and, if it has one, the word for its value.
_PURPOSES = {
    "--key-file FILE": "Read the key from this file; - means standard input.",
    "--key-env NAME": "Read the key from the environment variable with this name. "
    "Default: READBACK_API_KEY, else OPENAI_API_KEY, else a prompt.",
    "--cabinet URL": "The address of the cabinet. Default: the one the service names.",
    "--timeout SECONDS": "How long to wait in each step. Default: 10.",
    "--chat MODEL": "Also ask this model for a short completion, in one piece and "
    "streamed. The service may charge for it. Not for a Readback, where every run does "
    "so.",
    "--run": "Also send requests with the programs on this machine: curl, node, "
    "Python.",
    "--verbose": "Show every step with its facts.",
    "--json": "Print the report as one line of JSON, in English.",
    "--report FILE": "Also write the report to this file, as an HTML page for a "
    "ticket.",
    "--language": "The language of the report. Default: that of the terminal.",
}
_VALUES: dict[str, dict[str, Any]] = {
    "--timeout": {"type": _seconds(0.1), "default": 10.0},
    "--chat": {"type": _name},
    "--report": {"type": _name},
    "--language": {"choices": catalogue.LANGUAGES},
    **dict.fromkeys(("--run", "--verbose", "--json"), {"action": "store_true"}),
}


def command_line(program: str) -> KeySafeParser:
    # argparse takes its own words from gettext.
    argparse._ = say  # type: ignore[attr-defined]
    parser = KeySafeParser(
        program,
        description=say(
            "Find out why a connection to BASE_URL does not work. Tests every step "
            "from the address to the returned text, and reports what works, what fails "
            "and how to fix it. Sends at most 60 requests."
        ),
        epilog=say(
            "The exit code is 0 if everything works; otherwise it tells the kind of "
            "failure."
        ),
        # An abbreviated option would be repeated in an error message with its value.
        allow_abbrev=False,
    )
    purpose = say("The address of the API. Default: the one in OPENAI_BASE_URL.")
    parser.add_argument("base_url", metavar="BASE_URL", nargs="?", help=purpose)
    for option, purpose in _PURPOSES.items():
        name, _, value = option.partition(" ")
        added = parser.add_argument(name, help=say(purpose), **_VALUES.get(name, {}))
        added.metavar = value or None
    return parser


def main(arguments: list[str] | None = None, program: str = "readback probe") -> int:
    """Run the probe with these arguments and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    catalogue.use(catalogue.wanted(given, os.environ))
    parser = command_line(program)
    options = parser.parse(given)
    options.url_source = ""
    if options.base_url is None:
        options.base_url = os.environ.get(URL_VARIABLE, "")
        options.url_source = URL_VARIABLE
        if not options.base_url:
            parser.error(say("Enter the address of the API, or set OPENAI_BASE_URL."))
    if options.report:  # Before the run takes time.
        is_new = not os.path.exists(options.report)
        try:
            with open(options.report, "ab"):
                pass
            if is_new:
                os.unlink(options.report)
        except OSError as error:
            text = say("The file of --report cannot be written: {reason}.")
            parser.error(text.format(reason=error.strerror))
    code = _ending_with_a_sentence(lambda: _run(options, _key(options, parser)))
    background.exit_if_running(code)
    return code


def _write(file: str, page: str) -> None:
    """Write the page; a full disk leaves nothing half written."""
    if os.path.exists(file) and not os.path.isfile(file):  # Such as /dev/stdout.
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(page)
        return
    folder = os.path.dirname(os.path.abspath(file))
    handle, path = tempfile.mkstemp(dir=folder)
    try:
        with open(handle, "w", encoding="utf-8") as opened:
            opened.write(page)
        os.chmod(path, 0o644)
        os.replace(path, file)
    except BaseException:
        os.unlink(path)
        raise


def _ending_with_a_sentence(run: Callable[[], int]) -> int:
    """Return the exit code of the run; nothing ends it with a traceback."""
    from readback.probe.output.console import tolerate_encoding

    # A report with a few replaced characters is better than none.
    tolerate_encoding(sys.stdout)
    tolerate_encoding(sys.stderr)
    if sys.stdout is None:
        _complain(say(_NOT_WRITTEN, reason=say("standard output is closed")))
        return _STOPPED
    try:
        with signals_interrupt():
            return run()
    except KeyboardInterrupt:
        _complain(say("Stopped."))
        return INTERRUPTED
    except EOFError:
        _complain(say("Stopped."))
    except ImportError as error:
        # A Python that was built without OpenSSL has no ssl module, for example.
        text = say("This Python lacks the module {name}.", name=error.name)
        _complain(text)
    except OSError as error:  # The steps handle their own.
        if error.errno != EPIPE:  # Otherwise the reader has seen enough.
            _complain(say(_NOT_WRITTEN, reason=error.strerror))
        # Python would try to write the rest when it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:  # Only a mistake of the probe can end here.
        from readback.probe.common.results import FailureFamily
        from readback.probe.runner import origin

        text = "The probe ended with an error of its own: {reason}."
        _complain(say(text, reason=origin(error)))
        return FailureFamily.PROBE
    return _STOPPED


def _complain(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _key(options: argparse.Namespace, parser: KeySafeParser) -> str:
    from readback.probe.entered.key import key_from_environment_or_prompt, key_from_file

    if options.key_file:
        try:
            return key_from_file(options.key_file)
        except OSError as error:
            text = say("The file with the key cannot be read: {reason}.")
            parser.error(text.format(reason=error.strerror))
    if options.key_env and options.key_env not in os.environ:
        parser.error(
            say(
                "--key-env expects the name of an environment variable that is set, "
                "such as OPENAI_API_KEY, without a dollar sign."
            )
        )
    variables = (options.key_env,) if options.key_env else KEY_VARIABLES
    return key_from_environment_or_prompt(variables)


def _run(options: argparse.Namespace, key: str) -> int:
    from readback.probe.entered.key import Secret
    from readback.probe.output import page
    from readback.probe.output.console import ProgressLine, is_terminal
    from readback.probe.runner import RUN_PROGRAMS, STEPS, run_probe
    from readback.probe.transport.context import ProbeContext

    steps = (*STEPS, RUN_PROGRAMS) if options.run else STEPS
    progress = ProgressLine(next(filter(is_terminal, (sys.stdout, sys.stderr)), None))
    settings = (options.timeout, options.cabinet, options.chat, options.url_source)
    context = ProbeContext(options.base_url, Secret(key), *settings)
    report = run_probe(context, steps, progress)
    print(_text(report, options), flush=True)
    if options.report:
        _write(options.report, page.as_page(report))
    return report.family


def _text(report: ProbeReport, options: argparse.Namespace) -> str:
    from readback.probe.output import text
    from readback.probe.output.console import is_terminal

    if options.json:
        return text.as_json(report)
    # On Windows, this turns the colours of its console on.
    is_colored = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    if is_colored and os.name == "nt":
        os.system("")
    is_known = os.name == "nt" or os.environ.get("TERM", "dumb") != "dumb"
    form = text.as_long if options.verbose else text.as_short
    return form(report, is_colored=is_colored and is_known)


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
