"""A hint can be followed: it names the client that sent the request, and it works."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from clients import calls, drivers, environments, results
from clients.relay import Relay
from clients.scenarios import DEFAULT, Result

from readback import programs
from tests.support.server import Server
from tests.support.waiting import PATIENCE

MODEL = "vendor-cabinet-preview-echo"
TEXT = "Ready to copy?"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": TEXT}]}
PROGRAMS = {row.name: row for row in programs.table()}
CLIENTS = {client.name: client for client in drivers.all_clients()}
REFUSED = [
    result
    for result in results.load()[1].values()
    if not result.not_run and result.calls[DEFAULT].differences
]

# Runs a method of a library with the settings that a hint names.
LLM = """
import os, sys
base_url, api_key, model = sys.argv[1:4]
os.environ["LLM_USER_PATH"] = os.getcwd()
with open("extra-openai-models.yaml", "w") as file:
    file.write(f"- model_id: echo\\n  model_name: {{model}}\\n")
    file.write(f"  api_base: {{base_url}}\\n")
    file.write({settings!r})
with open("keys.json", "w") as file:
    file.write('{{"readback": "' + api_key + '"}}')
os.execv(sys.executable, [sys.executable, "-m", "llm", "-m", "echo", {text!r}])
"""


@pytest.mark.parametrize("result", REFUSED, ids=lambda result: result.client)
def test_the_hint_for_a_refused_client_names_it_or_its_library(result: Result):
    call = result.calls[DEFAULT]

    found = programs.recognise(call.requests[-1].user_agent)

    if PROGRAMS[result.program].user_agent is None:
        assert found is None or found.library
    else:
        assert found and found.name == result.program
        assert result.program in found.hint(call.differences, connected=True)


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
        f"{package}: the base URL must end in /v1, without a slash after it."
    )
    assert post(server.base_url).status_code == httpx.codes.OK


def run(client: str, program: str, server: Server, folder: Path) -> calls.Call:
    """Run a program with the packages of a client; skip if they cannot be had."""
    try:
        python = environments.command(CLIENTS[client])[0]
    except environments.NotInstalled as problem:
        pytest.skip(str(problem))
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    relay = Relay(server.base_url)
    with relay.running():
        command = [python, "-P", str(file)]
        return calls.call(
            command, relay, relay.base_url, server.api_key, DEFAULT, PATIENCE
        )


@pytest.mark.clients
@pytest.mark.parametrize("named", [False, True], ids=["without", "with"])
def test_llm_needs_the_name_of_its_key(named, server, tmp_path):
    setup = PROGRAMS["llm"].setup
    assert "`api_key_name`" in setup and "`can_stream: false`" in setup
    settings = "  can_stream: false\n" + "  api_key_name: readback\n" * named

    made = run("llm", LLM.format(settings=settings, text=TEXT), server, tmp_path)

    assert made.accepted == named, made
    # Without, it sends a placeholder, and our answer to it says what is missing.
    assert [one.status for one in made.requests] == [200 if named else 401]
