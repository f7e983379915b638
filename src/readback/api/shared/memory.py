"""The memory that all workers of a machine share, made before they are forked."""

from readback.api.shared.limiter import Limiter
from readback.config import Config
from readback.contract import ENDPOINTS, REFUSALS
from readback.processes.shared_counters import API, SharedCounters, rows_for
from readback.rehearsal import REHEARSED

# What the workers count; `API` says what it means.
ACCEPTED = ""
CODES = (ACCEPTED, *REFUSALS, REHEARSED)
REQUESTS = tuple((endpoint, code) for endpoint in ENDPOINTS for code in CODES)
# Of all workers' figures the lowest counts; 0: none. The first is on the monotonic
# clock, which all processes share, in milliseconds; then Unix time in seconds; bytes.
MOMENTS = {
    "keys_confirmed": "database_contact_age_seconds",
    "certificate_expires": "certificate_expiry_timestamp_seconds",
    "database_disk_free": "database_disk_free_bytes",
}
_SUMS = [name for name in API if name not in ("requests_total", *MOMENTS.values())]
TOTALS = [name.removesuffix("_total") for name in _SUMS if name.endswith("_total")]
GAUGES = [name for name in _SUMS if not name.endswith("_total")]
_COLUMNS = (*REQUESTS, *TOTALS, *GAUGES, *MOMENTS)


class Counters(SharedCounters):
    """The counters of all workers of the API."""

    def __init__(self, rows: int) -> None:
        super().__init__(_COLUMNS, rows, transient=(*GAUGES, *MOMENTS))


class SharedMemory:
    """The table of keys, and the counters of all workers."""

    def __init__(self, config: Config) -> None:
        self.workers = workers = config.worker_count
        self.limiter = Limiter(config.key_rate, config.key_burst)
        self.counters = Counters(rows_for(workers))
