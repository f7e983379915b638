"""The memory that all workers of a machine share, made before they are forked.

`readback serve` makes it before it starts the API, so that rates, `created` and
counters continue if the API dies and is started again.
"""

from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter, Rates
from readback.api.shared.places import Places, place_count
from readback.config import Config
from readback.shared_counters import rows_for


class SharedMemory:
    """Rates of keys, failures of addresses, counters and places of all workers."""

    def __init__(self, config: Config) -> None:
        self.workers = workers = config.worker_count
        self.key_rates = Limiter(config.key_rate, config.key_burst, workers=workers)
        self.failure_rates = Rates(
            config.auth_failure_rate, config.auth_failure_burst, workers=workers
        )
        self.counters = Counters(rows_for(workers))
        self.places = Places(place_count(config))
