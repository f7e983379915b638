"""The memory that all workers of a machine share, made before they are forked."""

from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.config import Config


class SharedMemory:
    """Rates of keys, failures of addresses, and everybody's counters."""

    def __init__(self, config: Config, workers: int) -> None:
        self.key_rates = Limiter(config.key_rate, config.key_burst)
        self.failure_rates = Limiter(
            config.auth_failure_rate, config.auth_failure_burst
        )
        # While workers are being replaced, the old and the new ones run together; and
        # gunicorn adds a worker whenever it is sent SIGTTIN.
        self.counters = Counters(rows=2 * workers + 30)
