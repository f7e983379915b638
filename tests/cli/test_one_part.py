"""`readback serve api` and `readback serve cabinet`, also under systemd."""

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

from tests.cli.conftest import ALICE
from tests.cli.program import READBACK, answers_200, key_in
from tests.support.commands import environment_with
from tests.support.waiting import PATIENCE, wait_until

# Like systemd, passes sockets as descriptors from 3 on, and the process id.
ACTIVATE = """
import os, sys
descriptors = [int(number) for number in sys.argv[1].split(",")]
for index, descriptor in enumerate(descriptors):
    os.dup2(descriptor, 10 + index)
for index in range(len(descriptors)):
    os.dup2(10 + index, 3 + index)
os.environ["LISTEN_FDS"] = str(len(descriptors))
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_both_planes_can_run_as_separate_commands_on_one_database(
    migrated_on_each_database,
):
    program = migrated_on_each_database
    api, cabinet = (program.settings[f"READBACK_{n}_BIND"] for n in ("API", "CABINET"))
    program.database.add_account(ALICE)
    key = program.output("key", "create", ALICE).strip()

    with (
        program.serving("api", until="Serving the API") as api_service,
        program.serving("cabinet", until="Serving the cabinet") as cabinet_service,
    ):
        assert answers_200(f"http://{api}/v1/models", key)
        assert answers_200(f"http://{cabinet}/healthz")
        assert api_service.stop() == 0
        assert cabinet_service.stop() == 0


def test_the_api_alone_creates_no_secret_key_and_no_file(program, postgresql, tmp_path):
    program.settings["READBACK_DATABASE_URL"] = postgresql.migrated_database()
    empty = tmp_path / "empty"
    program.settings["READBACK_DATA_DIR"] = str(empty)

    with program.serving("api", until="Serving the API") as service:
        ready = f"http://{program.settings['READBACK_OPS_BIND']}/readyz"
        wait_until(lambda: answers_200(ready), "it is ready")
        assert service.stop() == 0
    assert not empty.exists()


def test_the_api_uses_sockets_of_systemd_and_finds_the_ops_socket(with_alice):
    program = with_alice
    key = key_in(program.output("key", "create", ALICE))
    with listening() as ops, listening() as public:
        program.settings["READBACK_OPS_BIND"] = f"127.0.0.1:{port_of(ops)}"
        # Opening this address would fail.
        program.settings["READBACK_API_BIND"] = "192.0.2.1:80"

        with activated(program, [ops, public], "serve", "api") as process:
            assert answers_200(f"http://127.0.0.1:{port_of(public)}/v1/models", key)
            ready = f"http://127.0.0.1:{port_of(ops)}/readyz"
            wait_until(lambda: answers_200(ready), "it is ready")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


def test_the_cabinet_does_not_remove_a_unix_socket_of_systemd(migrated, tmp_path):
    path = tmp_path / "activated"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with activated(migrated, [listener], "serve", "cabinet") as process:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(PATIENCE)
                client.connect(str(path))
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 ")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
    assert path.exists()


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def port_of(listener: socket.socket) -> int:
    return listener.getsockname()[1]


@contextmanager
def activated(program, listeners: list[socket.socket], *arguments: str):
    """Run a command with sockets, as systemd's socket activation does."""
    numbers = [listener.fileno() for listener in listeners]
    activate = [sys.executable, "-c", ACTIVATE, ",".join(map(str, numbers))]
    with subprocess.Popen(
        [*activate, *READBACK, *arguments],
        env=environment_with(program.settings),
        cwd=program.folder,
        pass_fds=numbers,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
