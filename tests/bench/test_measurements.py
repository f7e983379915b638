"""Requests and instructions are counted for real servers, which accept every key."""

import gc
import shutil

import pytest
from bench import conformance, in_process, instructions, servers, traffic
from bench.peer import Peer, load_peers
from bench.traffic import KINDS, MANY_CLIENTS, NEW_CONNECTIONS

from readback.api.endpoints import exchange
from readback.http import backlog


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("valgrind"), reason=instructions.NO_VALGRIND)
def test_the_instructions_of_a_real_server_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "WORKSPACE", tmp_path / "with a space")
    uvloop = load_peers()["uvloop"]
    start = [word.replace("@python@", "@readback_python@") for word in uvloop.start]
    constant = Peer(**vars(uvloop) | {"install": "none", "start": start})
    keys = servers.prepare(constant)

    count = instructions.count(constant, keys, instructions.REPEATED, 960)

    # A system call and a few Python functions; starting Python takes millions.
    assert 200 < count < 20_000


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
    """Every kind is answered, however many requests are asked for."""
    monkeypatch.setattr("sys.stdin", ["32\n", "16\n"])
    # It stops the clock of these modules in the process that is counted.
    for module in (backlog, exchange):
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
