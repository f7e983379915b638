"""The benchmark measures real work: keys are accepted, and stalls are noticed."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from bench import conformance, in_process, instructions, servers, steady, traffic
from bench.peer import load_peers
from bench.traffic import KINDS, MANY_CLIENTS, NEW_CONNECTIONS

from readback.api.endpoints import exchange
from readback.http import flow_control


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_instructions_are_counted():
    # Enough for a few Python functions; starting Python would take millions.
    assert 200 < instructions.count(in_process.driver, 960) < 20_000


GET = b"GET / HTTP/1.1\r\n\r\n"
CONSTANT_SERVER = """
import asyncio, sys
class Constant(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Constant, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(serve())
"""


def test_a_stalled_server_is_charged_with_all_requests_that_were_due():
    command = [sys.executable, "-c", CONSTANT_SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            port = int(server.stdout.readline())
            # While the server stalls, more requests are due than there are connections.
            opened = [steady.Connection(port, [GET]) for _ in range(2)]
            os.kill(server.pid, signal.SIGSTOP)
            threading.Timer(0.4, server.send_signal, [signal.SIGCONT]).start()

            latencies = steady.run(opened, rate=300, seconds=1)
            for each in opened:
                each.socket.close()
        finally:
            server.kill()

    # A client that waits for each answer would see only two slow requests.
    slow = [each for each in latencies if each > 0.05]
    assert len(slow) > 0.25 * len(latencies)
    assert 0.2 < max(latencies) < 5


def test_requests_with_an_id_differ_in_nothing_else_from_any_text():
    keys = ["first", "second"]
    plain = traffic.any_text(keys)
    sent = traffic.request_ids(keys)

    assert len({request.request_id for request in sent}) == len(sent)
    assert b"\r\nX-Request-Id: " in sent[0].to_bytes(port=8000)
    for request, same in zip(sent, plain, strict=False):
        assert request.with_request_id("") == same


@pytest.mark.parametrize("kind", in_process.KINDS)
def test_the_work_is_done_in_process(kind, monkeypatch, capsys):
    """Every kind of request is answered."""
    monkeypatch.setattr("sys.stdin", ["32\n", "16\n"])
    # `main` freezes the clock in these modules; monkeypatch restores it.
    for module in (flow_control, exchange):
        monkeypatch.setattr(module, "monotonic", module.monotonic)
    try:
        in_process.main(kind)
    finally:
        gc.unfreeze()

    assert capsys.readouterr().out == "ready\ndone\ndone\n"


@pytest.mark.long
def test_readback_accepts_all_keys_of_the_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "WORKSPACE", tmp_path)
    readback = load_peers()["readback"]
    accepted = servers.prepare(readback)

    with servers.running(readback, accepted) as server:
        conformance.check(server)
        statuses = {
            servers.send(server.port, request)[0]
            for kind in (MANY_CLIENTS, NEW_CONNECTIONS)
            for request in KINDS[kind](server.keys)[-3:]
        }

    assert len(set(accepted)) == traffic.KEYS
    assert statuses == {200}
