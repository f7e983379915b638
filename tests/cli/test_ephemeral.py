"""`readback serve --ephemeral`: a temporary server for one test run."""

import json
import os
import re
import shlex
import signal
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

import httpx
import pytest

from readback import keys
from tests.cli.program import Program, answers_200, is_listening
from tests.support import migrated
from tests.support.commands import free_port
from tests.support.load import models, pipeline
from tests.support.waiting import PATIENCE
from tests.support.wire import Endpoint

JSON = ("--ephemeral", "--json")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty directory in which the program creates temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_json_prints_one_line_with_everything_a_client_needs(tmp_path, temporary):
    program = Program(tmp_path, {})
    # Cold, so that only the processes that need Django import it.
    with program.serving(*JSON, until="\n", cold=True) as service:
        line = json.loads(service.stdout)
        assert set(line) == {
            "base_url",
            "api_key",
            "cabinet_url",
            "ops_url",
            "account_email",
            "data_dir",
            "pid",
        }
        assert Path(line["data_dir"]).parent == temporary
        assert line["pid"] == service.process.pid
        bearer = {"Authorization": f"Bearer {line['api_key']}"}
        request = Request(f"{line['base_url']}/models", headers=bearer)
        with urlopen(request, timeout=PATIENCE) as answer:
            assert json.load(answer)["data"][0]["id"] == "vendor-cabinet-preview-echo"
        for url in (f"{line['ops_url']}/readyz", f"{line['cabinet_url']}/healthz"):
            assert urlopen(url, timeout=PATIENCE).status == 200
        assert service.stop() == 0
        assert service.stdout.count("\n") == 1
        assert service.stderr == ""


def test_without_json_it_prints_commands_that_work(tmp_path, temporary):
    with Program(tmp_path, {}).serving("--ephemeral", until="key create") as service:
        assert "curl " in service.stdout
        create = service.stdout.partition("To create a key: ")[2].strip()
        arguments = shlex.split(create)
        folder = arguments[0].removeprefix("READBACK_DATA_DIR=")
        elsewhere = Program(tmp_path, {"READBACK_DATA_DIR": folder})
        key = elsewhere.output(*arguments[arguments.index("key") :]).strip()
        [address] = re.findall(r"http://\S+/v1$", service.stdout, re.MULTILINE)
        assert answers_200(f"{address}/models", key)


def test_the_key_and_the_addresses_can_be_chosen(tmp_path):
    key = keys.mint()
    api, cabinet = free_port(), free_port()
    settings = {
        "READBACK_DATA_DIR": str(tmp_path / "data"),
        "READBACK_EPHEMERAL_KEY": key,
        "READBACK_ERROR_MESSAGES": "on",
        # As in a container, which is reached from other machines and by another name.
        "READBACK_API_BIND": f"0.0.0.0:{api}",
        "READBACK_CABINET_BIND": f"0.0.0.0:{cabinet}",
        "READBACK_CABINET_URL": f"http://readback.localhost:{cabinet}",
    }
    program = Program(tmp_path, settings)
    migrated.provide(settings)
    with program.serving("--ephemeral", until="key create") as service:
        assert f"http://readback.localhost:{cabinet}\n" in service.stdout
        ops = re.search(r"Ops +(\S+)", service.stdout)[1]
        # The ops port is not set, so a free one is used.
        assert urlopen(f"{ops}/readyz", timeout=PATIENCE).status == 200
        request = Request(f"http://127.0.0.1:{cabinet}/")
        request.add_header("Host", f"readback.localhost:{cabinet}")
        assert urlopen(request, timeout=PATIENCE).status == 200
        assert answers_200(f"http://127.0.0.1:{api}/v1/models", key)
        # More than the burst that a key has on other servers.
        endpoint = Endpoint("127.0.0.1", api)
        asked = [models(endpoint, key)] * 1200
        assert pipeline(endpoint, asked) == {200: 1200}
        # With the default setting there would be no message.
        refused = httpx.put(f"http://127.0.0.1:{api}/v1/models", verify=False)
        assert "message" in refused.json()["error"]
        assert service.stop() == 0
        # Whoever set the key knows it, but others may read the log.
        assert key not in service.stdout + service.stderr


def test_a_server_that_is_not_ephemeral_refuses_the_key(program):
    program.settings["READBACK_EPHEMERAL_KEY"] = keys.mint()
    for arguments in (["serve"], ["serve", "api"], ["serve", "cabinet"]):
        refused = program.run(*arguments)
        assert refused.returncode == 3
        assert refused.stderr.startswith("Error: READBACK_EPHEMERAL_KEY is set, but ")
        assert program.settings["READBACK_EPHEMERAL_KEY"] not in refused.stderr
    assert not os.path.exists(program.settings["READBACK_DATA_DIR"])


def test_a_configured_data_directory_is_kept_and_can_be_used_again(tmp_path):
    program = Program(tmp_path, {"READBACK_DATA_DIR": str(tmp_path / "kept")})
    migrated.provide(program.settings)
    emails = set()
    for _ in range(2):
        with program.serving(*JSON, until="\n") as service:
            line = json.loads(service.stdout)
            emails.add(line["account_email"])
            listed = program.output("key", "list", line["account_email"])
            assert line["api_key"][-4:] in listed
    assert len(emails) == 2
    assert (tmp_path / "kept" / "readback.sqlite3").exists()


def test_several_run_at_the_same_time_and_delete_their_own_directory(
    tmp_path, temporary
):
    program = Program(tmp_path, {})
    with (
        program.serving(*JSON, until="\n") as one,
        program.serving(*JSON, until="\n") as two,
    ):
        lines = [json.loads(service.stdout) for service in (one, two)]
        assert lines[0]["base_url"] != lines[1]["base_url"]
        addresses = [line["base_url"].split("/")[2] for line in lines]
        assert all(is_listening(address) for address in addresses)
        first, second = (Path(line["data_dir"]) for line in lines)
        assert {first, second} == set(temporary.glob("readback-*"))

        assert one.stop(signal.SIGTERM) == 0
        assert list(temporary.glob("readback-*")) == [second]
        assert (second / "readback.sqlite3").exists()
        assert two.stop(signal.SIGINT) == 0
    assert not list(temporary.glob("readback-*"))


def test_a_failed_start_deletes_the_temporary_directory(tmp_path, temporary):
    program = Program(tmp_path, {"READBACK_DATABASE_URL": "postgresql://127.0.0.1:9/x"})

    done = program.run("serve", "--ephemeral", "--json")

    assert done.returncode == 3 and done.stdout == ""
    assert not list(temporary.glob("readback-*"))


def test_json_requires_ephemeral_and_ephemeral_serves_both_planes(program):
    assert program.run("serve", "--json").returncode == 2
    assert program.run("serve", "--ephemeral", "api").returncode == 2
    assert not os.path.exists(program.settings["READBACK_DATA_DIR"])
