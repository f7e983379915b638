"""What the workers of the API count. `readback.metrics` says what it means."""

from readback.contract import ENDPOINTS, REFUSALS
from readback.shared_counters import WORKER_DEATHS, Histogram, SharedCounters

ACCEPTED = ""
CODES = (ACCEPTED, *REFUSALS)

REQUESTS = tuple((endpoint, code) for endpoint in ENDPOINTS for code in CODES)
TOTALS = (
    "connections",
    "connections_refused",
    "statements",
    "database_errors",
    "journal_dropped",
    "round_errors",
)
GAUGES = (
    "open_connections",
    "max_open_connections",
    "known_keys",
    "waiting_keys",
    "pending_rows",
    "database_readable_workers",
    "database_writable_workers",
    "workers",
)
# The last one is Unix time in seconds; the others are on the monotonic clock, which all
# processes share, in milliseconds. 0: none.
MOMENTS = ("keys_confirmed", "round_error", "certificate_expires")
# From an SQLite file in memory to the longest that a request waits, and a little more.
KEY_LOOK_UPS = Histogram(
    "key_lookup",
    (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
_COLUMNS = (
    *REQUESTS,
    *TOTALS,
    *GAUGES,
    *MOMENTS,
    *KEY_LOOK_UPS.columns,
    WORKER_DEATHS,
)


class Counters(SharedCounters):
    """The counters of all workers of the API."""

    def __init__(self, rows: int) -> None:
        super().__init__(_COLUMNS, rows, transient=(*GAUGES, *MOMENTS))
