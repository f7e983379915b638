"""`python -m bench.run`: measure the peers and the goals, then write the pages.

Says what is missing before it starts, shows how far it is, and may be stopped at any
time: results are written as they come.
"""

import signal
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from bench import goals, load, pace, render, roster
from bench.display import Display
from bench.pace import Pace
from bench.roster import Absent
from bench.rounds import LIMIT, Rounds


def options() -> Namespace:
    parser = ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a second each, to see that everything works; the pages stay as they are",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        choices=[*roster.load(), *goals.SCENARIOS],
        help="a peer (with the limit beside it; kept in .bench/results) or a scenario "
        "of the goals (takes the place of its last result); may be given again",
    )
    parser.add_argument("--rounds", type=int, help="instead of the usual number")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    speed = pace.QUICK if chosen.quick else pace.FULL
    if chosen.rounds:
        speed = replace(speed, rounds=chosen.rounds)
    try:
        roster.need_program("wrk", "wrk")
    except Absent as absent:
        sys.exit(f"Without wrk nothing can be measured: {absent}.")
    load.raise_file_limit()
    # However the run is ended, the server of the moment is stopped with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Display() as display:
            measure(speed, chosen.only, display)
    except KeyboardInterrupt:
        sys.exit("Stopped; what was measured is kept.")
    if not chosen.quick:
        render.main()


def measure(speed: Pace, only: list[str] | None, display: Display) -> None:
    peers = roster.load()
    wanted = set(only or peers) & peers.keys()
    if wanted:
        chosen = [peer for peer in peers.values() if peer.name in wanted | {LIMIT}]
        whole = len(chosen) == len(peers)
        Rounds(chosen, speed, display, kept=whole and not speed.quick).run()
    scenarios = [name for name in goals.SCENARIOS if not only or name in only]
    if scenarios:
        goals.measure(scenarios, speed, display)
    display.say("The goals, by all results so far:")
    for line in goals.report(kept=not speed.quick):
        display.say(line)


if __name__ == "__main__":
    main()
