"""`readback serve` ends if a plane dies: what started the service starts it again."""

import os
import signal

import psutil
import pytest

from tests.support.processes import has_ended
from tests.support.waiting import PATIENCE, wait_until


@pytest.mark.parametrize("plane", ["cabinet", "API"])
@pytest.mark.parametrize(
    ("number", "reason", "code"),
    [
        (signal.SIGKILL, "got signal 9", 128 + signal.SIGKILL),
        # The master stops in an orderly way, but nobody has stopped the service.
        (signal.SIGTERM, "exited with code 0", 1),
    ],
)
def test_a_plane_that_dies_ends_the_command_and_leaves_no_process(
    migrated, plane: str, number: signal.Signals, reason: str, code: int
):
    with migrated.serving() as service:
        processes = psutil.Process(service.process.pid).children(recursive=True)
        assert len(processes) >= 4  # the masters, and a worker of each
        os.kill(service.children()[plane == "API"], number)
        assert service.process.wait(PATIENCE) == code
        assert service.stderr == f"The {plane} {reason}; stopping Readback.\n"
    left = [process.pid for process in processes if not has_ended(process.pid)]
    wait_until(lambda: all(map(has_ended, left)), "the kernel has ended them")
    assert not migrated.is_listening()


def test_a_plane_that_dies_before_it_has_been_ready_ends_the_command(migrated):
    with migrated.serving(until="") as service:
        wait_until(service.children, "the cabinet is starting")
        os.kill(service.children()[0], signal.SIGKILL)
        assert service.process.wait(PATIENCE) == 128 + signal.SIGKILL
        assert service.stderr == "The cabinet got signal 9; stopping Readback.\n"
        assert service.stdout == ""
