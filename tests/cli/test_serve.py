"""`readback serve`: the API and the cabinet as one service."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
from urllib.parse import urlsplit
from urllib.request import urlopen

import httpx

from tests.cli.program import is_listening, key_in, unfinished_request
from tests.cli.terminal import serving_in_terminal
from tests.support.browser import Browser
from tests.support.commands import free_port
from tests.support.waiting import PATIENCE, wait_until


def curl_line(text: str) -> str:
    [line] = [line for line in text.splitlines() if line.strip().startswith("curl ")]
    return line


def test_the_first_start_prints_a_curl_command_that_works_unchanged(program):
    with serving_in_terminal(program, until="To create a key") as screen:
        curl = ["sh", "-c", f"{curl_line(screen)} --fail --silent"]
        answer = json.loads(subprocess.check_output(curl, timeout=PATIENCE))
        assert answer["choices"][0]["message"]["content"] == "Hello"

        cabinet = f"http://{program.settings['READBACK_CABINET_BIND']}/"
        with urlopen(cabinet, timeout=PATIENCE) as page:
            assert program.settings["READBACK_API_BIND"] in page.read().decode()


def set_password_and_log_in(text: str) -> None:
    """Set a password with the printed link, and log in as the printed account."""
    [link] = re.findall(r"http://\S+/password/reset/key/\S+", text)
    url = urlsplit(link)
    password = "a lamp in the harbour"
    browser = Browser(f"{url.scheme}://{url.netloc}")
    # Django keeps the link's secret in the session, and shows this path instead.
    form = re.sub(r"key/(\w+)-.*", r"key/\1-set-password/", url.path)
    browser.submit(form, browser.get(url.path), password1=password)
    assert 'name="password"' not in browser.log_in("local@localhost", password)


def test_the_first_key_is_created_by_the_first_start_that_may_show_it(program):
    with program.serving() as service:
        assert "sk-echo-" not in service.stdout + service.stderr
        assert "/password/reset/" not in service.stdout + service.stderr
        assert "start with --show-key" in service.stdout
        assert program.output("key", "list", "local@localhost") == ""

    # A later start with --show-key creates the key.
    with program.serving("--show-key") as service:
        assert key_in(service.stdout)
        set_password_and_log_in(service.stdout)

    with program.serving("--show-key") as service:
        assert "sk-echo-" not in service.stdout
        assert "/reset/" not in service.stdout
        assert "Log in to the cabinet as local@localhost" in service.stdout
        [command] = [
            line.partition(": ")[2]
            for line in service.stdout.splitlines()
            if line.startswith("To create a key: ")
        ]
    program_name, _, arguments = command.partition("readback ")
    assert program_name in ("", "python -m ")
    assert key_in(program.output(*shlex.split(arguments)))


def test_no_key_is_created_where_other_machines_could_use_it(program):
    program.settings["READBACK_CABINET_URL"] = "https://readback.example"
    with program.serving("--show-key") as service:
        assert "sk-echo-" not in service.stdout + service.stderr
        assert "readback key create EMAIL" in service.stdout
        assert "/reset/" not in service.stdout


def test_on_all_addresses_it_answers_as_localhost_and_says_how_to_begin(program):
    port = free_port()
    program.settings = program.settings | {"READBACK_CABINET_BIND": f"0.0.0.0:{port}"}
    with program.serving() as service:
        assert "sk-echo-" not in service.stdout + service.stderr
        assert _status_as(f"localhost:{port}") == 200
        assert _status_as(f"[::1]:{port}") == 200
        assert _status_as(f"rebound.example:{port}") == 400
        create_account, create_key = [
            line.rpartition("readback ")[2].replace("EMAIL", "alice@example.org")
            for line in service.stdout.splitlines()
            if "To create" in line
        ]
        program.output(*create_account.split())
        assert key_in(program.output(*create_key.split()))


def _status_as(host: str) -> int:
    """Return the status of the cabinet's landing page for this Host header."""
    port = host.rpartition(":")[2]
    url = f"http://127.0.0.1:{port}/"
    headers = {"Host": host}
    return httpx.get(url, headers=headers, timeout=PATIENCE, verify=False).status_code


def test_no_key_is_created_on_postgresql(program, postgresql):
    program.settings["READBACK_DATABASE_URL"] = postgresql.new_database()
    with program.serving("--show-key") as service:
        assert "sk-echo-" not in service.stdout + service.stderr
        assert service.stop() == 0


def test_ctrl_c_in_a_terminal_lets_running_requests_finish(migrated):
    with migrated.serving() as service:
        with unfinished_request(migrated) as client:
            # A terminal sends the signal to its whole process group.
            os.killpg(service.process.pid, signal.SIGINT)
            client.sendall(b"\r\n")
            assert b" 401 " in client.recv(4096)
        assert (service.process.wait(PATIENCE), service.stderr) == (0, "")
    assert not migrated.is_listening()


def test_the_first_signal_waits_for_a_running_request_and_a_later_one_does_not(
    migrated,
):
    # Neither timeout may end the requests while a busy machine stops the cabinet.
    patient = migrated.with_settings(HEAD_TIMEOUT="100", STOP_TIMEOUT="100")
    with (
        patient.serving() as service,
        unfinished_request(patient) as client,
        unfinished_request(patient),
    ):
        # Two signals that arrive together, as from GNU timeout, count as one.
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            service.process.send_signal(number)
        wait_until(
            lambda: not is_listening(migrated.settings["READBACK_CABINET_BIND"]),
            "the cabinet has stopped",
        )
        client.sendall(b"\r\n")
        assert b" 401 " in client.recv(4096)

        def has_ended_after_another() -> bool:
            service.process.terminate()
            return service.process.poll() is not None

        wait_until(has_ended_after_another, "a signal ends it", 20)
        assert service.process.poll() == 128 + signal.SIGKILL


def test_when_the_program_is_killed_both_planes_stop(migrated):
    with migrated.serving() as service:
        service.process.kill()
        service.process.wait(PATIENCE)
    wait_until(lambda: not migrated.is_listening(), "all ports are closed")


def test_two_first_starts_at_the_same_time_create_one_account(program):
    other = program.with_settings(
        API_BIND="127.0.0.7:0", CABINET_BIND="127.0.0.8:0", OPS_BIND="127.0.0.9:0"
    )
    with (
        program.serving("--show-key", until="") as first,
        other.serving("--show-key", until="") as second,
    ):
        for service in (first, second):
            service.wait_for(" key create ")
        assert key_in(first.stdout + second.stdout)


def test_it_serves_unix_sockets_and_replaces_a_stale_one(program, tmp_path):
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "api"))
    stale.close()
    for name in ("API", "CABINET", "OPS"):
        program.settings[f"READBACK_{name}_BIND"] = f"unix:{tmp_path}/{name.lower()}"

    with program.serving("--show-key") as service:
        curl = ["sh", "-c", f"{curl_line(service.stdout)} --fail --silent"]
        assert b"Hello" in subprocess.check_output(curl, timeout=PATIENCE)
        assert service.stop() == 0
