"""Runs misfortunes, several at once, each in its own process.

Each process has its own environment, limits and, if requested, network. It is forked
from a process that has already imported everything.
"""

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from _pytest.outcomes import Skipped

from readback.probe.output.text import as_long
from readback.probe.report import ProbeReport
from tests.probe import resources as setup
from tests.probe.misfortunes.judging import (
    LONGEST_SECONDS,
    Judgment,
    Misfortune,
    Told,
    judge,
)
from tests.probe.probing import probed
from tests.probe.setups import Resources

# A process that takes longer is killed: the probe should have stopped by itself.
_DEADLINE = LONGEST_SECONDS + 60
_forks = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    misfortune: Misfortune
    judgment: Judgment
    seconds: float
    """How long the probe took, without the setup."""
    text: str
    """The report, or the traceback of a failed setup."""


def run_all(
    misfortunes: Sequence[Misfortune], resources: Resources, at_once: int
) -> Iterator[Outcome]:
    """Yield the outcomes as they arrive."""
    waiting, running = list(reversed(misfortunes)), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            one = waiting.pop()
            here, there = _forks.Pipe(duplex=False)
            process = _forks.Process(target=_run_alone, args=(one, resources, there))
            process.start()
            there.close()
            running[here] = (one, process, time.monotonic())
        ready = wait(list(running), timeout=1.0)
        for here in list(running):
            one, process, started = running[here]
            is_late = time.monotonic() - started > _DEADLINE
            if here not in ready and not is_late:
                continue
            yield _received(here, one) if here in ready else _never_ended(one)
            # Its servers may hang on purpose, so the process might not end by itself.
            process.kill()
            process.join()
            del running[here]


def _received(here: Connection, one: Misfortune) -> Outcome:
    try:
        return Outcome(one, *here.recv())
    except EOFError:
        return Outcome(one, Judgment(Told.WRONGLY, "the process ended"), 0.0, "")


def _never_ended(one: Misfortune) -> Outcome:
    judgment = Judgment(Told.WRONGLY, "the run did not end")
    return Outcome(one, judgment, _DEADLINE, "")


def _run_alone(one: Misfortune, resources: Resources, there: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    empty = resources.folder / "empty"
    empty.mkdir(exist_ok=True)
    setup.quiet_this_process(empty)
    try:
        own = _in_own_folder(resources)
        judgment, report = attempt(one, own, os.environ.__setitem__)
        there.send((judgment, report.seconds, as_long(report)))
    except Skipped as skipped:
        there.send((Judgment(Told.SKIPPED, str(skipped)), 0.0, ""))
    except Exception:
        # A failed setup is a bug in the collection and must not go unnoticed.
        text = traceback.format_exc()
        there.send((Judgment(Told.WRONGLY, "the set-up failed"), 0.0, text))
    there.close()
    os._exit(0)


def _in_own_folder(resources: Resources) -> Resources:
    # The process id would not be unique: with thousands of processes, ids are reused.
    folder = Path(tempfile.mkdtemp(dir=resources.folder))
    return replace(resources, folder=folder)


def attempt(
    one: Misfortune, resources: Resources, set_variable: Callable[[str, str], object]
) -> tuple[Judgment, ProbeReport]:
    """Set up a misfortune, run the probe, and judge its report."""
    with one.arrange(resources) as probe_input:
        for name, value in probe_input.environment.items():
            set_variable(name, value)
        report = probed(probe_input)
    return judge(one, report), report


def write_report(folder: Path, outcome: Outcome) -> None:
    """Write the report to a file, with the judgment and what was expected."""
    one = outcome.misfortune
    name = "".join(c if c.isalnum() else "-" for c in f"{one.kind} {one.name}")
    head = f"{one.name} ({one.kind}): {outcome.judgment.told.value}"
    why = f"{outcome.judgment.why}; expected {one.says} by {one.by or 'nobody'}"
    text = f"{head}\n{why}\n\n{outcome.text}\n"
    (folder / f"{outcome.judgment.told.value}-{name[:90]}.txt").write_text(text)
