"""The memory that all workers of a machine share, made before they are forked."""

import mmap
import time
from collections import Counter
from collections.abc import Iterable

from readback.api.shared.limiter import Limiter
from readback.config import Config
from readback.contract import ENDPOINTS, REFUSALS
from readback.processes.shared_counters import API, SharedCounters, rows_for

# What the workers count; `API` says what it means.
ACCEPTED = ""
CODES = (ACCEPTED, *REFUSALS)
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

# More workers than this share places: every process keeps all sockets open.
_MOST_PLACES = 64
# A worker reports twice a second.
_SILENT_SECONDS = 1.0


def place_count(config: Config) -> int:
    """Return how many sockets an address has: one per worker, if the system allows."""
    return min(config.worker_count, _MOST_PLACES)


class Counters(SharedCounters):
    """The counters of all workers of the API."""

    def __init__(self, rows: int) -> None:
        super().__init__(_COLUMNS, rows, transient=(*GAUGES, *MOMENTS))


class Places:
    """The places of the workers, and which have a worker that accepts connections.

    Each TCP address of the API has one listening socket per place. A worker accepts
    from the sockets of its place and reports that here. If nobody reports at a place,
    because its worker is starting, has died or hangs, the others accept from its
    sockets.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # When a worker last reported there, in monotonic time.
        self._reported = memoryview(mmap.mmap(-1, count * 8)).cast("d")

    def least_used(self, used: Iterable[int]) -> int:
        """Return a place for a new worker beside workers at these places."""
        workers = Counter(used)
        return min(range(self.count), key=workers.__getitem__)

    def report(self, place: int) -> None:
        self._reported[place] = time.monotonic()

    def is_silent(self, place: int) -> bool:
        """Return whether no worker accepts from the sockets of a place."""
        return time.monotonic() - self._reported[place] > _SILENT_SECONDS


class SharedMemory:
    """The table of keys, the counters and the places of all workers."""

    def __init__(self, config: Config) -> None:
        self.workers = workers = config.worker_count
        self.limiter = Limiter(config.key_rate, config.key_burst)
        self.counters = Counters(rows_for(workers))
        self.places = Places(place_count(config))
