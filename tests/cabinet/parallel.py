"""Run the same action in several threads at once, each with its own connection."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from tests.support.waiting import PATIENCE


def in_parallel(action: Callable[[], Any], times: int) -> list[Any]:
    """Return what each call returned, or the exception that it raised."""
    barrier = Barrier(times)

    def run() -> Any:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=PATIENCE)
            return action()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(times)]]
