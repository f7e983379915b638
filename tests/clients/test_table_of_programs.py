"""Clients behave as the table of programs says."""

import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import drivers, environments
from clients.__main__ import compare, run_all

from readback import programs
from tests.support.server import Server
from tests.support.waiting import PATIENCE

CLIENTS = drivers.all_clients()
BUTTONS = Path(__file__).with_name("buttons.toml")
MODEL = "vendor-cabinet-preview-echo"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "Ready to copy?"}]}


def test_every_driver_and_button_belongs_to_a_program_of_the_table():
    buttons = tomllib.loads(BUTTONS.read_text(encoding="utf-8"))["button"]

    named = {client.program for client in CLIENTS}
    named |= {button["program"] for button in buttons}
    assert named <= {row.name for row in programs.table()}


def test_every_environment_is_locked_and_used():
    sources = {path.stem for path in environments.LOCKS.glob("*.in")}

    assert sources == {path.stem for path in environments.LOCKS.glob("*.txt")}
    used = {client.environment for client in CLIENTS}
    assert used == {"dev", "system", "node", *sources}


# These are on the machine or installed with the tests. `make clients` runs all clients.
@pytest.mark.parametrize(
    "name", ["curl", pytest.param("openai-python@dev", marks=pytest.mark.long)]
)
def test_a_client_of_this_environment_does_what_the_table_says(name):
    [client] = [client for client in CLIENTS if client.name == name]

    assert run_all([client], compare) == {name: []}


@pytest.mark.parametrize("package", ["httpx", "requests"])
def test_a_plain_client_without_the_version_is_told_about_it(package, server: Server):
    client = pytest.importorskip(package)
    headers = {"Authorization": f"Bearer {server.api_key}"}

    def post(base_url: str) -> Any:
        url = f"{base_url}/chat/completions"
        return client.post(url, json=BODY, headers=headers, timeout=PATIENCE)

    refused = post(server.base_url.removesuffix("/v1"))

    hint = refused.headers["X-Error-Detail"]
    assert hint.endswith(
        f"{package}: The base URL must end in /v1, without a slash after it."
    )
    assert post(server.base_url).status_code == httpx.codes.OK
