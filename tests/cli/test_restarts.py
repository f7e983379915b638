"""`readback serve`: a plane that dies is started again, and the other goes on."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from readback.cli.supervisor import Plane
from tests.cli.program import READBACK, Service, answers_200
from tests.support.api import Api, assert_echo, assert_success, draft
from tests.support.commands import environment_with
from tests.support.database import Database
from tests.support.metrics import requests_by_outcome
from tests.support.server import UNLIMITED
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint


def api_of(program) -> Api:
    """Create a key for Alice without a limit; return the API as she sees it."""
    program.settings |= UNLIMITED
    program.output("account", "create", "alice@example.org", "--confirmed")
    key = program.output("key", "create", "alice@example.org").strip()
    return Api(Endpoint.of(f"http://{program.settings['READBACK_API_BIND']}"), key)


def end_plane(service: Service, child: int, number: signal.Signals) -> None:
    """Send a signal to the master of a plane; wait until the parent has noticed."""
    deaths = service.stderr.count("starting it again")
    os.kill(child, number)
    wait_until(
        lambda: service.stderr.count("starting it again") > deaths, "it has died"
    )


def test_the_api_answers_while_a_killed_cabinet_is_started_again(migrated):
    api = api_of(migrated)
    cabinet = f"http://{migrated.settings['READBACK_CABINET_BIND']}/healthz"
    with migrated.serving() as service, ThreadPoolExecutor(1) as pool:
        cabinet_master, api_master = service.children()
        end_plane(service, cabinet_master, signal.SIGKILL)
        # This one waits in the queue of the listener.
        visit = pool.submit(answers_200, cabinet)
        wait_until(
            lambda: assert_echo(api.chat(draft("x")), "x") and visit.done(),
            "the cabinet has answered",
        )
        assert visit.result()
        assert service.children()[0] == api_master
        assert service.stderr.splitlines() == [
            "The cabinet got signal 9; starting it again in 1 s.",
            "Starting the cabinet again.",
        ]

        end_plane(service, api_master, signal.SIGKILL)
        # Signals take effect during the pause.
        service.process.send_signal(signal.SIGHUP)
        assert service.stop() == 0
        assert "Starting the API" not in service.stderr


def test_created_and_counts_go_on_when_a_killed_api_is_started_again(migrated):
    api = api_of(migrated)
    database = Database(
        f"sqlite:///{migrated.settings['READBACK_DATA_DIR']}/readback.sqlite3"
    )
    ops = f"http://{migrated.settings['READBACK_OPS_BIND']}"
    with migrated.serving() as service:
        given = burst(api, 20)
        wait_until(lambda: usage(database) == 20, "the usage is written")
        # Nothing of this one is written before the kill, or only a part.
        given += burst(api, 20)
        end_plane(service, service.children()[1], signal.SIGKILL)
        given += burst(api, 5)
        # The API stops in an orderly way, and must not close the listener for the next.
        end_plane(service, service.children()[1], signal.SIGTERM)
        given += burst(api, 5)
        assert given == sorted(set(given))
        assert sum(requests_by_outcome(ops).values()) >= 20
        assert service.stop() == 0
    assert 30 <= usage(database) <= 50


def burst(api: Api, times: int) -> list[int]:
    """Return the values of `created`, which run ahead of the clock."""
    with api.endpoint.connect() as connection:
        given = []
        for _ in range(times):
            connection.send(api.chat_bytes(draft("x")))
            given.append(assert_success(connection.read_answer())["created"])
    return given


def usage(database: Database) -> int:
    return database.value("SELECT COALESCE(SUM(requests), 0) FROM cabinet_usage")


def test_a_plane_that_dies_before_it_has_been_ready_ends_the_command(migrated):
    process = subprocess.Popen(
        [*READBACK, "serve"],
        env=environment_with(migrated.settings),
        cwd=migrated.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        service = Service(process, Path(os.devnull), Path(os.devnull))
        wait_until(service.children, "the cabinet is starting")
        os.kill(service.children()[0], signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGKILL
    assert stderr == "The cabinet exited unexpectedly; stopping Readback.\n"


def test_the_pause_grows_to_half_a_minute_and_is_short_again_after_a_healthy_minute():
    plane = Plane("API", restart=lambda: None)
    assert [plane.pause_after(0.1) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert [plane.pause_after(ran) for ran in (59, 60, 0.1)] == [30, 1, 2]
