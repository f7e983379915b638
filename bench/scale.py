"""Whether the model predicts a fleet: measure costs, then predict and measure fleets.

Only CPU time and counted work are compared, because time on the clock depends on what
else the machine does. `scale_page.py` writes the results into docs/scale*.md.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench import fleet_load, fleet_model
from bench.fleet import hash_points
from bench.fleet_model import Demand, Figures
from bench.install import require_program
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.scale_costs import CostBenchmark, figures_of
from bench.scale_plan import ScalePlan
from bench.site import Site, Work, site

Row = dict[str, Any]
# Replicas, and workers of each, behind the balancer.
FLEETS = ((1, 1), (3, 1), (1, 3))


def measure(plan: ScalePlan, published: bool, progress: ProgressBar) -> Row:
    """Measure everything; return what was written to the file of results."""
    for program, package in (("wrk", "wrk"), ("h2load", "nghttp2-client")):
        require_program(program, package)
    file = ResultsFile("scale", asdict(plan), published)
    with site() as place:
        costs = CostBenchmark(place, plan, progress).measure()
        fleets = FleetComparison(place, plan, progress).measure(figures_of(costs))
        costs["sizes"] |= place.row_sizes()
        others_share = round(place.others_share, 2)
    file.data |= {"costs": costs, "fleets": fleets, "others_share": others_share}
    file.write()
    return file.data


class FleetComparison:
    """Runs small fleets, and compares them with the model."""

    def __init__(self, place: Site, plan: ScalePlan, progress: ProgressBar) -> None:
        self._site, self._plan, self._progress = place, plan, progress

    def measure(self, figures: Figures) -> list[Row]:
        self._progress.add_steps(len(FLEETS))
        return [self._compare(figures, *fleet) for fleet in FLEETS]

    def _compare(self, figures: Figures, number: int, workers: int) -> Row:
        """Return the work of a fleet, predicted and measured."""
        self._progress.describe(f"{number} replicas with {workers} workers")
        used = self._site.new_keys(self._plan.fleet_keys, journal=True)
        work, measured = self._run_fleet(used, number, workers)
        demand = Demand(
            rate=work.requests / work.seconds,
            keys=len(used),
            connections=fleet_load.CONNECTIONS,
            http2=False,
            workers=workers,
            hash_points=hash_points(),
        )
        predicted = _predicted(figures, demand, number)
        self._progress.finish_step(
            f"{number} × {workers}: {demand.rate:,.0f} requests/s, "
            f"{measured['statements']:.1f} statements/s, predicted "
            f"{predicted['statements']:.1f}"
        )
        return {
            "replicas": number,
            "workers": workers,
            "rate": demand.rate,
            "keys": len(used),
            "transactions": work.transactions / work.seconds,
            "predicted": predicted,
            "measured": measured,
        }

    def _run_fleet(
        self, used: Sequence[str], number: int, workers: int
    ) -> tuple[Work, dict[str, float]]:
        """Send requests through HAProxy to a fleet; return its work."""
        plan = self._plan
        with (
            self._site.running(number, workers) as running,
            fleet_load.key_file(used) as sent,
        ):
            running.stagger(used)
            target = running.balancer.http
            fleet_load.send(target, sent, plan.warm_up_seconds, plan.fleet_rate)
            before = running.balancer.requests_by_server()
            work = running.measure(
                lambda: fleet_load.send(
                    target, sent, plan.fleet_seconds, plan.fleet_rate
                ),
            )
            after = running.balancer.requests_by_server()
            known = running.known_keys()
        requests = [after[name] - before[name] for name in before]
        return work, {
            "statements": work.statements / work.seconds,
            "rows": work.rows / work.seconds,
            "known_keys": sum(known),
            "worker_cpu": work.workers / work.requests,
            "balancer_cpu": work.balancer / work.requests,
            "database_cpu": work.database / work.seconds,
            "busiest": max(requests) / sum(requests),
        }


def _predicted(figures: Figures, demand: Demand, replicas: int) -> dict[str, float]:
    """Return what the model says about a fleet without spare replicas."""
    load = fleet_model.load(figures, demand, replicas)
    uneven = fleet_model.busiest(replicas, demand.hash_points, demand.keys)
    return {
        "statements": load.statements,
        "rows": load.rows,
        "known_keys": load.known_keys * replicas * demand.workers,
        "worker_cpu": load.worker_cpu / demand.rate,
        "balancer_cpu": load.balancer_cpu / demand.rate,
        "database_cpu": load.database_cpu,
        "busiest": uneven / replicas,
    }
