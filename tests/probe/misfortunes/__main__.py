"""Runs the collection of misfortunes and prints the share diagnosed correctly.

The exit code is 1 if less than 97 % are correct or if any report is misleading.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.probe import resources as setup
from tests.probe.misfortunes import MISFORTUNES
from tests.probe.misfortunes.judging import Misfortune, Told
from tests.probe.misfortunes.running import Outcome, run_all, write_report
from tests.support.environment import make_clean

ROOT = Path(__file__).parents[3]
LEAST_SHARE = 0.97
_COUNTED = (Told.RIGHTLY, Told.PARTLY, Told.WRONGLY)


def main() -> int:
    options = _command_line().parse_args()
    chosen = _chosen(options.only)
    if options.list:
        print(
            "\n".join(f"{misfortune.kind}: {misfortune.name}" for misfortune in chosen)
        )
        return 0
    if not chosen:
        print(f"No class or name contains {', '.join(options.only)}.")
        return 2
    make_clean()
    shutil.rmtree(options.reports, ignore_errors=True)
    options.reports.mkdir(parents=True)
    started = time.monotonic()
    outcomes = _run(chosen, options)
    _print_summary(outcomes, time.monotonic() - started)
    counts = Counter(outcome.judgment.told for outcome in outcomes)
    is_good = _share(counts) >= LEAST_SHARE and not counts[Told.WRONGLY]
    return 0 if is_good else 1


def _command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("misfortunes", description=__doc__)
    option = parser.add_argument
    option("--only", nargs="+", default=[], help="Words of classes or names.")
    option("--at-once", type=int, default=6, help="How many run at once. Default: 6.")
    option("--reports", type=Path, default=ROOT / ".misfortunes", help="Their folder.")
    option("--all-reports", action="store_true", help="Keep those told rightly, too.")
    option("--list", action="store_true", help="Print the collection, run nothing.")
    return parser


def _chosen(words: Sequence[str]) -> list[Misfortune]:
    kinds = {misfortune.kind for misfortune in MISFORTUNES}.intersection(words)
    parts = [word for word in words if word not in kinds]
    return [
        misfortune
        for misfortune in MISFORTUNES
        if not words
        or misfortune.kind in kinds
        or any(part in misfortune.name for part in parts)
    ]


def _run(chosen: Sequence[Misfortune], options: argparse.Namespace) -> list[Outcome]:
    outcomes = []
    with (
        tempfile.TemporaryDirectory(prefix="readback-") as folder,
        setup.readback_server(Path(folder)) as server,
    ):
        resources = setup.made_in(Path(folder), server)
        for outcome in run_all(chosen, resources, options.at_once):
            outcomes.append(outcome)
            told, one = outcome.judgment.told, outcome.misfortune
            if told != Told.RIGHTLY:
                why = outcome.judgment.why
                print(f"{told.value:<8} {one.kind}: {one.name}: {why}", flush=True)
            if options.all_reports or told in (Told.PARTLY, Told.WRONGLY):
                write_report(options.reports, outcome)
    return outcomes


def _print_summary(outcomes: Sequence[Outcome], seconds: float) -> None:
    print(
        f"\n{'class':<22}" + "".join(f"{told.value:>9}" for told in Told) + "    share"
    )
    kinds = dict.fromkeys(misfortune.kind for misfortune in MISFORTUNES)
    for kind in [*kinds, ""]:
        of_kind = [
            outcome for outcome in outcomes if kind in ("", outcome.misfortune.kind)
        ]
        counts = Counter(outcome.judgment.told for outcome in of_kind)
        if of_kind:
            cells = "".join(f"{counts[told]:>9}" for told in Told)
            print(f"{kind or 'all':<22}{cells}{_share(counts):>9.1%}")
    print("\nThe ten slowest:")
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:10]:
        row = outcome.misfortune
        print(f"{outcome.seconds:6.1f} s  {row.kind}: {row.name}")
    print(f"\n{len(outcomes)} misfortunes in {seconds:.0f} s.")


def _share(counts: Counter[Told]) -> float:
    total = sum(counts[told] for told in _COUNTED)
    return counts[Told.RIGHTLY] / total if total else 1.0


if __name__ == "__main__":
    sys.exit(main())
