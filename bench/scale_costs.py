"""What each piece of work of a fleet costs, measured alone.

A request, a known key, a row and a look-up on one replica with one worker; a request
and a new connection through HAProxy. Each measurement needs only the results of earlier
ones. `fleet_model.py` gets the results as its figures.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from math import ceil
from typing import Any

from tests.support.load import models, spread

from bench import fleet_load, fleet_model, proc
from bench.fleet_load import FORWARDED
from bench.fleet_model import Figures
from bench.progress import ProgressBar
from bench.scale_plan import ScalePlan
from bench.site import Running, Site, Work
from readback import keys
from readback.api.data.journal import ROUND_SECONDS
from readback.api.data.store import KEYS_PER_LOOK_UP

Row = dict[str, Any]
# Few, so that their refreshes and rows cost almost nothing; more than one, because a
# connection of the balancer carries the keys of many clients in turn.
CURVE_KEYS = 10
LOOK_UP_CONNECTIONS = 100


class CostBenchmark:
    """Measures all costs."""

    def __init__(self, place: Site, plan: ScalePlan, progress: ProgressBar) -> None:
        self._site, self._plan, self._progress = place, plan, progress

    def measure(self) -> Row:
        self._progress.add_steps(8 + 3 * len(self._plan.rates))
        place = self._site
        few = place.new_keys(CURVE_KEYS)
        with place.running(1, 1, balanced=False) as alone:
            idle = self._idle(alone)
            request = self._curve("API", alone, few, idle)
            look_up = self._look_up(alone, request)
            known, key_bytes = self._known(alone, idle)
        # Written in every round, so that there are enough rows to be measured.
        with place.running(1, 1, balanced=False, journal_interval=0) as alone:
            several = [
                self._rows(alone, number, rate, (idle, known, request))
                for number, rate in zip(
                    self._plan.row_keys, self._plan.row_rates, strict=True
                )
            ]
        with place.running(1, 1, balanced=False, tls=True) as alone:
            tls = self._tls(alone, few, idle)
        with place.running(1, 1) as balanced:
            balancer = self._balancer(balanced, few, idle)
        return {
            "idle": idle,
            "request": request,
            "tls_request": tls,
            "look_up": look_up,
            "known_key": known,
            "few_rows": several[0],
            "row": several[1],
            **balancer,
            "sizes": balancer["sizes"] | key_bytes,
        }

    def _idle(self, alone: Running) -> Row:
        self._progress.describe("an idle worker")
        work = alone.measure(lambda: _wait(2 * self._plan.seconds))
        self._progress.finish_step("idle")
        return {
            "statements": work.statements / work.seconds,
            "transactions": work.transactions / work.seconds,
            "worker_cpu": work.workers / work.seconds,
            "database_cpu": work.database / work.seconds,
            "bytes": alone.memory(),
        }

    def _curve(
        self, name: str, running: Running, used: Sequence[str], idle: Row
    ) -> list[Row]:
        """Measure the CPU per request at several rates, without the idle part."""
        points = []
        with fleet_load.key_file(used) as sent:
            # Every key is known, and every cache is filled.
            fleet_load.send(running.front, sent, 1, headers=FORWARDED)
            for rate in self._plan.rates:
                self._progress.describe(f"{name}: {rate or 'all'} requests/s")
                arguments = (running.front, sent, self._plan.seconds, rate, FORWARDED)
                work = running.measure(partial(fleet_load.send, *arguments))
                cpu = work.workers - idle["worker_cpu"] * work.seconds
                points.append(self._point(name, work, cpu))
        return points

    def _point(self, name: str, work: Work, cpu: float) -> Row:
        rate, cost = work.requests / work.seconds, cpu / work.requests
        self._progress.finish_step(f"{name} {rate:>8,.0f}/s {1e6 * cost:>6.1f} µs each")
        return {"rate": rate, "cpu": cost}

    def _tls(self, alone: Running, used: Sequence[str], idle: Row) -> Row:
        """Measure TLS at the API itself, at full load."""
        with fleet_load.key_file(used) as sent:
            fleet_load.send(alone.front, sent, 1, headers=FORWARDED)
            work = alone.measure(
                lambda: fleet_load.send(
                    alone.front, sent, self._plan.seconds, headers=FORWARDED
                ),
            )
        cpu = work.workers - idle["worker_cpu"] * work.seconds
        return self._point("API over TLS", work, cpu)

    def _look_up(self, alone: Running, request: Sequence[Row]) -> Row:
        """Measure keys that no worker knows, and of which nothing is kept."""
        self._progress.describe("look-ups")
        made_up = [keys.mint() for _ in range(self._plan.known_keys)]
        requests = [models(alone.front, key) for key in made_up]

        def send() -> int:
            return spread(alone.front, requests, LOOK_UP_CONNECTIONS)[401]

        work = alone.measure(send)
        number = len(made_up)
        self._progress.finish_step(f"{number / work.seconds:,.0f} look-ups per second")
        return {
            "keys": number,
            "per_second": number / work.seconds,
            "statements": work.statements,
            "worker_cpu": max(0.0, work.workers / number - request[-1]["cpu"]),
            "database_cpu": work.database / number,
        }

    def _known(self, alone: Running, idle: Row) -> tuple[Row, Row]:
        """Measure keys that a worker knows and asks about, but that send nothing."""
        self._progress.describe("known keys")
        known = self._site.new_keys(self._plan.known_keys)
        before = alone.worker_memory()
        spread(
            alone.front,
            [models(alone.front, key) for key in known],
            LOOK_UP_CONNECTIONS,
        )
        alone.wait_until_written()
        grown = alone.worker_memory() - before
        work = alone.measure(lambda: _wait(2 * self._plan.seconds))
        # A round begins when the last one has ended, so there may be fewer than two a
        # second; the statements tell.
        per_round = ceil(len(known) / KEYS_PER_LOOK_UP)
        refreshes = len(known) * work.statements / per_round
        figures = {
            "keys": len(known),
            "rounds": work.statements / per_round / work.seconds,
            "statements": work.statements / work.seconds,
            "transactions": work.transactions / work.seconds,
            "worker_cpu": _per(work.workers, idle["worker_cpu"], work, refreshes),
            "database_cpu": _per(work.database, idle["database_cpu"], work, refreshes),
        }
        self._progress.finish_step(
            f"{len(known):,} known keys: {figures['statements']:.1f} statements/s"
        )
        return figures, {"known_key": max(0.0, grown / len(known))}

    def _rows(
        self,
        alone: Running,
        number: int,
        rate: int,
        others: tuple[Row, Row, Sequence[Row]],
    ) -> Row:
        """Measure keys that are used in every round, with full journals."""
        idle, known, request = others
        self._progress.describe(f"{number} rows in a round")
        used = self._site.new_keys(number, journal=True)
        seconds = self._plan.row_seconds
        with fleet_load.key_file(used) as sent:
            alone.stagger(used)
            fleet_load.send(alone.front, sent, 2, rate, FORWARDED)
            work = alone.measure(
                lambda: fleet_load.send(alone.front, sent, seconds, rate, FORWARDED)
            )
        reached = work.requests / work.seconds
        refreshes = len(used) * work.seconds / ROUND_SECONDS
        requests = work.requests * _curve_of(request).at(reached)
        figures = {
            "keys": len(used),
            "rate": reached,
            "rows": work.rows / work.seconds,
            "statements": work.statements / work.seconds,
            "transactions": work.transactions / work.seconds,
            "worker_cpu": _per(
                work.workers - requests - refreshes * known["worker_cpu"],
                idle["worker_cpu"],
                work,
                work.rows,
            ),
            "database_cpu": _per(
                work.database - refreshes * known["database_cpu"],
                idle["database_cpu"],
                work,
                work.rows,
            ),
            "wal_bytes": work.wal_bytes / work.rows,
        }
        self._progress.finish_step(
            f"{figures['rows']:,.0f} rows/s, {1e6 * figures['worker_cpu']:.0f} µs of a "
            f"worker and {1e6 * figures['database_cpu']:.0f} µs of PostgreSQL each"
        )
        return figures

    def _balancer(self, running: Running, used: Sequence[str], idle: Row) -> Row:
        """Measure HAProxy with HTTP/1.1, with HTTP/2 over TLS, and new connections."""
        balancer, checks = running.balancer, self._checks(running, idle)
        with fleet_load.key_file(used) as sent:
            sent_first = fleet_load.send(balancer.http, sent, 1)
            log_bytes = balancer.log_bytes() / sent_first
            http = self._balancer_curve(
                "HTTP/1.1",
                running,
                checks,
                lambda rate: fleet_load.send(
                    balancer.http, sent, self._plan.seconds, rate
                ),
            )
            http2 = self._balancer_curve(
                "HTTP/2",
                running,
                checks,
                lambda rate: fleet_load.send_http2(
                    balancer.tls, sent, self._plan.seconds, rate
                ),
            )
        request_bytes, response_bytes = fleet_load.exchange_bytes(
            balancer.http, used[0]
        )
        handshake, connection_bytes = self._handshake(running, used[0], http[-1])
        return {
            "checks": checks,
            "balancer_http": http,
            "balancer_http2": http2,
            "handshake": handshake,
            "sizes": {
                "request": request_bytes,
                "response": response_bytes,
                "log": log_bytes,
                "balancer_connection": connection_bytes,
            },
        }

    def _checks(self, running: Running, idle: Row) -> Row:
        """Measure the health checks of one replica, on both sides."""
        self._progress.describe("health checks")
        work = running.measure(lambda: _wait(2 * self._plan.seconds))
        self._progress.finish_step("health checks")
        worker_cpu = work.workers / work.seconds - idle["worker_cpu"]
        return {
            "balancer_cpu": work.balancer / work.seconds,
            "worker_cpu": max(0.0, worker_cpu),
        }

    def _balancer_curve(
        self, name: str, running: Running, checks: Row, send: Callable[[int], int]
    ) -> list[Row]:
        points = []
        for rate in self._plan.rates:
            self._progress.describe(f"HAProxy, {name}: {rate or 'all'} requests/s")
            work = running.measure(partial(send, rate))
            cpu = work.balancer - checks["balancer_cpu"] * work.seconds
            points.append(self._point(name, work, cpu))
        return points

    def _handshake(self, running: Running, key: str, request: Row) -> tuple[Row, float]:
        """Measure new connections over TLS, and the memory that they keep."""
        number = self._plan.idle_connections
        before = proc.memory([running.balancer.pid])
        with ExitStack() as stack:
            work = running.measure(
                lambda: stack.enter_context(
                    fleet_load.idle_connections(running.balancer.tls, key, number)
                ),
            )
            grown = proc.memory([running.balancer.pid]) - before
        cpu = work.balancer / number - request["cpu"]
        self._progress.finish_step(f"a new TLS connection: {1e6 * cpu:.0f} µs")
        return {"cpu": cpu, "connections": number}, max(0.0, grown / number)


def figures_of(costs: Row) -> Figures:
    """Return the figures of the model from the costs in the file of results."""
    sizes = costs["sizes"]
    worker_write, worker_row = write_and_row(costs, "worker_cpu")
    database_write, database_row = write_and_row(costs, "database_cpu")
    return Figures(
        request=_curve_of(costs["request"]),
        worker_idle=costs["idle"]["worker_cpu"],
        worker_refresh=costs["known_key"]["worker_cpu"],
        worker_row=worker_row,
        worker_write=worker_write,
        worker_look_up=costs["look_up"]["worker_cpu"],
        database_idle=costs["idle"]["database_cpu"],
        database_refresh=costs["known_key"]["database_cpu"],
        database_row=database_row,
        database_write=database_write,
        database_look_up=costs["look_up"]["database_cpu"],
        balancer_http=_curve_of(costs["balancer_http"]),
        balancer_http2=_curve_of(costs["balancer_http2"]),
        balancer_handshake=costs["handshake"]["cpu"],
        balancer_checks=costs["checks"]["balancer_cpu"],
        worker_checks=costs["checks"]["worker_cpu"],
        worker_bytes=costs["idle"]["bytes"],
        key_bytes=sizes["known_key"],
        balancer_connection_bytes=sizes["balancer_connection"],
        request_bytes=sizes["request"],
        response_bytes=sizes["response"],
        log_bytes=sizes["log"],
        usage_row_bytes=sizes.get("usage_row", 0.0),
        journal_row_bytes=sizes.get("journal_row", 0.0),
        wal_row_bytes=costs["row"]["wal_bytes"],
    )


def write_and_row(costs: Row, name: str) -> tuple[float, float]:
    """Return what a transaction costs that writes rows, and each row in it.

    A row of a small transaction bears a larger share of it.
    """
    many = costs["row"]
    if "few_rows" not in costs:  # older results have none
        return 0.0, many[name]
    few = costs["few_rows"]
    write = (few[name] - many[name]) / (1 / few["keys"] - 1 / many["keys"])
    write = max(0.0, write)
    return write, max(0.0, many[name] - write / many["keys"])


def _curve_of(points: Sequence[Row]) -> fleet_model.Curve:
    found = sorted((point["rate"], point["cpu"]) for point in points)
    return fleet_model.Curve(found)


def _per(cpu: float, idle: float, work: Work, number: float) -> float:
    """Return the CPU of one of several pieces of work, without the idle part."""
    return max(0.0, (cpu - idle * work.seconds) / number)


def _wait(seconds: float) -> None:
    time.sleep(seconds)
