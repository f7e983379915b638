"""The probe's command line: its options, output, signals and exit code.

`readback probe` and the file that the cabinet hands out both start here. No third-party
package is imported before the options are parsed. Error messages do not repeat a
refused argument, because it could be a key.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EPIPE
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from readback.keys import KEY_LIKE, PREFIX
from readback.probe import entered
from readback.probe.common import catalogue
from readback.probe.common.catalogue import say
from readback.probe.common.results import FailureFamily
from readback.probe.output import console

if TYPE_CHECKING:
    from readback.probe.report import ProbeReport

_SHORTEST_SECONDS = 0.1
_LONGEST_SECONDS = 86_400
_STOPPED = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class KeySafeParser(argparse.ArgumentParser):
    """A parser whose messages never repeat a key that was passed by mistake."""

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        # The value of an option may also be a key.
        values = (
            text.partition("=")[2] if text[:1] == "-" else text for text in arguments
        )
        is_key = any(map(KEY_LIKE.fullmatch, values))
        if is_key or any(PREFIX in argument for argument in arguments):
            self.error(say("argument_is_key"))
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self.error(say("unknown_arguments"))
        return options


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    # Written this way, the condition also refuses "nan".
    if not _SHORTEST_SECONDS <= seconds <= _LONGEST_SECONDS:
        facts = {"least": _SHORTEST_SECONDS, "most": _LONGEST_SECONDS}
        raise argparse.ArgumentTypeError(say("expected_seconds", **facts))
    return seconds


def _name(text: str) -> str:
    """Return the argument; refuse an empty one, as from an unset shell variable."""
    if not text.strip():
        raise argparse.ArgumentTypeError(say("expected_a_name"))
    return text


# The help text of each option is in the catalogue.
_OPTIONS: dict[str, dict[str, Any]] = {
    "--key-file": {"metavar": "FILE"},
    "--key-env": {"metavar": "NAME"},
    "--cacert": {"metavar": "FILE", "type": _name},
    "--cert": {"metavar": "FILE", "type": _name},
    "--timeout": {"metavar": "SECONDS", "type": _seconds, "default": 10.0},
    "--chat": {"metavar": "MODEL", "type": _name},
    "--verbose": {"action": "store_true"},
    "--json": {"action": "store_true"},
    "--report": {"metavar": "FILE", "type": _name},
    "--language": {"choices": catalogue.LANGUAGES},
}


def command_line(program: str) -> KeySafeParser:
    # argparse translates its own messages with `_`, which is gettext by default.
    argparse._ = say  # type: ignore[attr-defined]
    parser = KeySafeParser(
        program,
        description=say("purpose"),
        epilog=say("about_exit_code"),
        # An abbreviated option would be repeated in an error message with its value.
        allow_abbrev=False,
    )
    parser.add_argument("base_url", metavar="BASE_URL", nargs="?", help=say("BASE_URL"))
    for name, settings in _OPTIONS.items():
        parser.add_argument(name, help=say(name), **settings)
    return parser


def main(arguments: list[str] | None = None, program: str = "readback probe") -> int:
    given = sys.argv[1:] if arguments is None else arguments
    language = catalogue.wanted(given, os.environ)
    is_readable = console.can_show(catalogue.SAMPLES[language], sys.stdout)
    catalogue.use(language if is_readable else catalogue.LANGUAGES[0])
    parser = command_line(program)
    options = parser.parse(given)
    options.url_source = ""
    if options.base_url is None:
        options.base_url, options.url_source = _address_from_environment(options)
        if not options.base_url:
            parser.error(say("enter_an_address"))
    _check_files(options, parser)
    return _ending_with_a_sentence(lambda: _run(options, _key(options, parser)))


def _address_from_environment(options: argparse.Namespace) -> tuple[str, str]:
    """Return the address that the openai package would use, and what sets it."""
    if url := os.environ.get(entered.URL_VARIABLE, ""):
        return url, entered.URL_VARIABLE
    is_other_key = options.key_file or options.key_env
    variables = [name for name in entered.KEY_VARIABLES if os.environ.get(name)]
    is_alone = not is_other_key and variables == [entered.API_KEY_VARIABLE]
    return (entered.OPENAI_URL, entered.OPENAI_DEFAULT) if is_alone else ("", "")


def _check_files(options: argparse.Namespace, parser: KeySafeParser) -> None:
    """Exit with an error message, before the run, if a file cannot be used."""
    if options.cacert or options.cert:
        from readback.probe.connection import stores

        if reason := stores.why_unusable(options.cacert) if options.cacert else "":
            parser.error(say("file_unusable", option="--cacert", reason=reason))
        if reason := stores.why_no_identity(options.cert) if options.cert else "":
            parser.error(say("file_unusable", option="--cert", reason=reason))


def _ending_with_a_sentence(run: Callable[[], int]) -> int:
    """Return the run's exit code; print a sentence instead of a traceback."""
    console.show_all(sys.stdout, sys.stderr)
    if sys.stdout is None:
        _complain(say("not_written", reason=say("output_closed")))
        return _STOPPED
    try:
        with signals_interrupt():
            return run()
    except KeyboardInterrupt:
        _complain(say("stopped"))
        return FailureFamily.INTERRUPTED
    except EOFError:
        _complain(say("stopped"))
    except ImportError as error:
        # For example, a Python that was built without OpenSSL has no ssl module.
        _complain(say("module_missing", name=error.name))
    except OSError as error:  # Raised while writing; the steps handle their own errors.
        if error.errno != EPIPE:  # EPIPE means that the reader closed the pipe.
            _complain(say("not_written", reason=error.strerror))
    except Exception as error:  # Only a bug in the probe can end here.
        from readback.probe.runner import origin

        _complain(say("probe_failed", reason=origin(error)))
        return FailureFamily.PROBE
    return _STOPPED


def _complain(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def _key(options: argparse.Namespace, parser: KeySafeParser) -> str:
    from readback.probe.entered.key import key_from_environment_or_prompt, key_from_file

    if options.key_file:
        try:
            if found := key_from_file(options.key_file):
                return found
            reason = say("is_empty")
        except OSError as error:
            reason = error.strerror or ""
        parser.error(say("key_file_not_read", reason=reason))
    if options.key_env and options.key_env not in os.environ:
        parser.error(say("key_env_expects"))
    variables = (options.key_env,) if options.key_env else entered.KEY_VARIABLES
    return key_from_environment_or_prompt(variables)


def _run(options: argparse.Namespace, key: str) -> int:
    from readback.probe.entered.key import Secret
    from readback.probe.output import text
    from readback.probe.runner import STEPS, ProbeRun
    from readback.probe.transport.context import ProbeContext

    terminals = filter(console.is_terminal, (sys.stdout, sys.stderr))
    progress = console.ProgressLine(next(terminals, None))
    context = ProbeContext(
        options.base_url,
        Secret(key),
        options.timeout,
        options.chat,
        options.url_source,
        options.cacert or "",
        options.cert or "",
    )
    report = ProbeRun(context, progress).run(STEPS)
    print(_text(report, options), flush=True)
    if options.report:
        page = text.as_page(report).encode()
        with open(options.report, "wb") as file:
            file.write(page)
    return report.family


def _text(report: ProbeReport, options: argparse.Namespace) -> str:
    from readback.probe.output import text

    if options.json:
        return text.as_json(report)
    is_colored = console.is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    if is_colored and os.name == "nt":
        os.system("")  # Enables colors in the console.
    is_known = os.name == "nt" or os.environ.get("TERM", "dumb") != "dumb"
    form = text.as_long if options.verbose else text.as_short
    return form(report, is_colored=is_colored and is_known)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on the first signal; the next one kills the process."""
    # A signal that is already ignored, as under nohup, stays ignored.
    ignored = signal.SIG_IGN
    handled = [number for number in _SIGNALS if signal.getsignal(number) != ignored]

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for stopping in _SIGNALS:
            signal.signal(stopping, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = [signal.signal(number, interrupt) for number in handled]
    try:
        yield
    finally:
        for number, handler in zip(handled, before):  # noqa: B905
            signal.signal(number, handler)
