"""`readback serve api` and `readback serve cabinet`: production, and systemd."""

import os
import signal
import socket
import subprocess
import sys

from tests.cli.program import READBACK, answers_200, environment, eventually, key_in

# What systemd does: sockets from descriptor 3 on, and the process's own number.
ACTIVATE = """
import os, sys
given = [int(number) for number in sys.argv[1].split(",")]
for place, number in enumerate(given):
    os.dup2(number, 10 + place)
for place in range(len(given)):
    os.dup2(10 + place, 3 + place)
os.environ["LISTEN_FDS"] = str(len(given))
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_both_planes_serve_one_database_as_processes_of_their_own(on_each_database):
    program = on_each_database
    api, cabinet = (program.settings[f"READBACK_{n}_BIND"] for n in ("API", "CABINET"))
    program.said("migrate")
    program.said("account", "create", "alice@example.org", "--confirmed")
    key = program.said("key", "create", "alice@example.org").strip()

    with (
        program.serving("api", until="Serving the API") as one,
        program.serving("cabinet", until="Serving the cabinet") as other,
    ):
        assert answers_200(f"http://{api}/v1/models", key)
        assert answers_200(f"http://{cabinet}/healthz")
        assert one.stop() == 0
        assert other.stop() == 0


def test_the_api_alone_needs_no_secret_and_makes_no_file(program, postgresql, tmp_path):
    program.settings["READBACK_DATABASE_URL"] = postgresql.new_database()
    program.said("migrate")
    empty = tmp_path / "empty"
    program.settings["READBACK_DATA_DIR"] = str(empty)

    with program.serving("api", until="Serving the API") as service:
        ready = f"http://{program.settings['READBACK_OPS_BIND']}/readyz"
        eventually(lambda: answers_200(ready), "it is ready")
        assert service.stop() == 0
    assert not empty.exists()


def test_sockets_of_systemd_are_used_and_the_one_of_the_ops_address_is_ops(program):
    program.said("migrate")
    program.said("account", "create", "alice@example.org", "--confirmed")
    key = key_in(program.said("key", "create", "alice@example.org"))
    with listening() as ops, listening() as public:
        program.settings["READBACK_OPS_BIND"] = f"127.0.0.1:{port_of(ops)}"
        # Were it opened, this would fail.
        program.settings["READBACK_API_BIND"] = "192.0.2.1:80"

        with activated(program, [ops, public], "serve", "api") as process:
            assert answers_200(f"http://127.0.0.1:{port_of(public)}/v1/models", key)
            ready = f"http://127.0.0.1:{port_of(ops)}/readyz"
            eventually(lambda: answers_200(ready), "it is ready")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_a_unix_socket_of_systemd_outlives_the_cabinet(program, tmp_path):
    program.said("migrate")
    path = tmp_path / "activated"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with activated(program, [listener], "serve", "cabinet") as process:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(30)
                client.connect(str(path))
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 ")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    assert path.exists()


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def port_of(listener: socket.socket) -> int:
    return listener.getsockname()[1]


class activated:
    """Run a command with sockets, as systemd's socket activation does."""

    def __init__(self, program, listeners: list[socket.socket], *arguments: str):
        numbers = [listener.fileno() for listener in listeners]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", ACTIVATE, ",".join(map(str, numbers))),
                *(*READBACK, *arguments),
            ],
            env=environment(program.settings),
            cwd=program.folder,
            pass_fds=numbers,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> "subprocess.Popen[bytes]":
        return self.process

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
        self.process.wait(30)
