"""The metrics of the API and the cabinet in Prometheus's format.

The API and the cabinet each collect their own; `shared_counters.py` describes them.
"""

import platform
from collections.abc import Iterable, Iterator
from math import inf

from prometheus_client import Metric, core

from readback import __version__
from readback.config import Config
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import (
    API,
    CABINET,
    COMMON,
    LOG_LINES_DROPPED,
    WORKER_DEATHS,
    SharedCounters,
)

Labels = tuple[str, ...]

PREFIX = "readback_"
# The format of `prometheus_client.generate_latest`.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MEANINGS = COMMON | API | CABINET


def gauge(name: str, value: float) -> Metric:
    return core.GaugeMetricFamily(PREFIX + name, _MEANINGS[name], value)


def counter(name: str, value: float) -> Metric:
    return core.CounterMetricFamily(PREFIX + name, _MEANINGS[name], value)


def counters_by(
    name: str, label_names: Labels, values: Iterable[tuple[Labels, float]]
) -> Metric:
    family = core.CounterMetricFamily(
        PREFIX + name, _MEANINGS[name], labels=label_names
    )
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def histogram(name: str, counts: Iterable[tuple[float, int]], total: float) -> Metric:
    """Return a histogram, given the counts of its buckets and the sum of all values."""
    below = 0
    buckets = []
    for bound, count in counts:
        below += count
        buckets.append(("+Inf" if bound == inf else str(bound), float(below)))
    return core.HistogramMetricFamily(PREFIX + name, _MEANINGS[name], buckets, total)


def common(
    server: str, config: Config, lifecycle: Lifecycle, counters: SharedCounters
) -> Iterator[Metric]:
    build = {
        "plane": server,
        "version": __version__,
        "python": platform.python_version(),
        "database": "sqlite" if config.sqlite_path else "postgresql",
    }
    # The class adds `_info` to the name.
    yield core.InfoMetricFamily(f"{PREFIX}build", _MEANINGS["build_info"], build)
    yield gauge("start_time_seconds", lifecycle.started_at)
    yield counter("worker_deaths_total", counters.total(WORKER_DEATHS))
    yield counter("log_lines_dropped_total", counters.total(LOG_LINES_DROPPED))
