"""The metrics of both planes for Prometheus: their names, meanings and format.

The tables are the only place that says what a metric means; docs/monitoring.md repeats
them. What is measured is up to each plane. The names here lack the prefix.
"""

import platform
from collections.abc import Iterable, Iterator

from prometheus_client import Metric, core

from readback import __version__
from readback.config import Config
from readback.processes.lifecycle import Lifecycle
from readback.processes.shared_counters import (
    LOG_IS_DROPPING,
    LOG_LINES_DROPPED,
    WORKER_DEATHS,
    SharedCounters,
)

Labels = tuple[str, ...]

PREFIX = "readback_"
# The format that `prometheus_client.generate_latest` writes.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOTH_PLANES = {
    "build_info": "Always 1: plane, version, Python and database are the labels.",
    "start_time_seconds": "When the plane was started, in Unix time.",
    "worker_deaths_total": "Workers that ended without being told to.",
    "log_lines_dropped_total": "Log lines that were dropped because nobody read them.",
}
API = {
    "requests_total": "Requests answered, by endpoint and code (ok or a refusal's).",
    "key_lookups_total": "Look-ups of keys that were not known yet.",
    "slow_key_lookups_total": "Look-ups of keys that took more than 0.25 seconds.",
    "connections_total": "Connections accepted, with those of replaced workers.",
    "connections_refused_total": "Connections refused: too many, or no descriptors.",
    "open_connections": "Connections open now.",
    "max_open_connections": "Connections that all workers together may have open.",
    "workers": "Workers that are running.",
    "database_readable_workers": "Workers that can read keys from the database.",
    "database_writable_workers": "Workers whose last write of usage succeeded.",
    "database_contact_age_seconds": "Time since every worker last read all its keys.",
    "database_disk_free_bytes": "Free space on the disk of SQLite.",
    "database_errors_total": "Statements or connections that failed.",
    "statements_total": "SQL statements run.",
    "known_keys": "Keys in the workers' memories.",
    "waiting_keys": "Keys that are being looked up.",
    "pending_rows": "Rows of usage and journal that are due and not written yet.",
    "journal_dropped_total": "Requests whose usage could not be kept.",
    "round_errors_total": "Unexpected errors in the periodic work of workers.",
    "certificate_expiry_timestamp_seconds": "When the certificate in use expires.",
}
CABINET = {
    "cabinet_database_up": "1 if the cabinet can read from the database, otherwise 0.",
    "pages_total": "Pages answered, by status.",
    "mails_waiting": "Mails in the outbox.",
    "oldest_mail_age_seconds": "How long the oldest of them has been waiting.",
    "mails_total": "Mails that left the outbox, by outcome.",
    "last_backup_timestamp_seconds": "When `readback backup` last wrote an archive.",
}
_MEANINGS = BOTH_PLANES | API | CABINET


def gauge(name: str, value: float) -> Metric:
    return core.GaugeMetricFamily(PREFIX + name, _MEANINGS[name], value)


def counter(name: str, value: float) -> Metric:
    return core.CounterMetricFamily(PREFIX + name, _MEANINGS[name], value)


def counters_by(
    name: str, label_names: Labels, values: Iterable[tuple[Labels, float]]
) -> Metric:
    """Return one counter for each combination of labels."""
    family = core.CounterMetricFamily(
        PREFIX + name, _MEANINGS[name], labels=label_names
    )
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def of_both_planes(
    plane: str, config: Config, lifecycle: Lifecycle, counters: SharedCounters
) -> Iterator[Metric]:
    """Return what is measured in the same way on each plane."""
    build = {
        "plane": plane,
        "version": __version__,
        "python": platform.python_version(),
        "database": "sqlite" if config.sqlite_path else "postgresql",
    }
    # The class adds the suffix to the name.
    yield core.InfoMetricFamily(f"{PREFIX}build", _MEANINGS["build_info"], build)
    yield gauge("start_time_seconds", lifecycle.started_at)
    yield counter("worker_deaths_total", counters.total(WORKER_DEATHS))
    yield counter("log_lines_dropped_total", counters.total(LOG_LINES_DROPPED))


def log_problems(counters: SharedCounters) -> list[str]:
    """Return what the checks of readiness say about a log that is not read."""
    if not counters.total(LOG_IS_DROPPING):
        return []
    dropped = counters.total(LOG_LINES_DROPPED)
    return [f"log lines were dropped because they were not read: {dropped} so far"]
