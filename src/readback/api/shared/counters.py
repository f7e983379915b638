"""The counters of the API's workers, in memory that they share."""

from math import inf

from readback.contract import ENDPOINTS, REFUSALS
from readback.processes.shared_counters import API, SharedCounters
from readback.rehearsal import REHEARSED

# The table `API` describes the counters below.
ACCEPTED = ""
CODES = (ACCEPTED, *REFUSALS, REHEARSED)
REQUESTS = tuple((endpoint, code) for endpoint in ENDPOINTS for code in CODES)
# For these, the minimum over all workers is shown; 0 means no value. The first is in
# milliseconds of the monotonic clock, which all processes share, the second in Unix
# seconds, and the third in bytes.
MOMENTS = {
    "keys_confirmed": "database_contact_age_seconds",
    "certificate_expires": "certificate_expiry_timestamp_seconds",
    "database_disk_free": "database_disk_free_bytes",
}
# The bounds of the histogram in milliseconds, and the column with the sum.
TIMES = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, inf)
TOTAL_TIME = "request_milliseconds"
_SHOWN_OTHERWISE = ("requests_total", "request_seconds", *MOMENTS.values())
_SUMS = [name for name in API if name not in _SHOWN_OTHERWISE]
TOTALS = [name.removesuffix("_total") for name in _SUMS if name.endswith("_total")]
GAUGES = [name for name in _SUMS if not name.endswith("_total")]
_COLUMNS = (*REQUESTS, *TIMES, TOTAL_TIME, *TOTALS, *GAUGES, *MOMENTS)


class Counters(SharedCounters):
    def __init__(self, workers: int) -> None:
        super().__init__(_COLUMNS, workers, transient=(*GAUGES, *MOMENTS))
