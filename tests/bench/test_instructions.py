"""Instructions are counted for a real server, and shown only for the same machine."""

import gc
import shutil

import pytest
from bench import in_process, instructions, render, results, servers
from bench.peer import Peer, load_peers

from readback.api.http import fair_queue

MACHINE = {"cpu": "Xeon", "architecture": "x86_64", "python": "3.11.7"}
COUNTED = {
    "machine": MACHINE,
    "peers": {
        "nginx": {
            "title": "nginx",
            "family": "limit",
            "cases": {instructions.REPEATED: 11_036, instructions.RECONNECT: 13_809},
        },
        "granian": {
            "title": "Granian",
            "family": "framework",
            "cases": {instructions.REPEATED: 98_765},
        },
    },
}


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("valgrind"), reason=instructions.NO_VALGRIND)
def test_the_instructions_of_a_real_server_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "WORKSPACE", tmp_path / "with a space")
    constant = Peer(
        **vars(load_peers()["uvloop"])
        | {
            "install": "none",
            "start": [
                word.replace("@python@", "@readback_python@")
                for word in load_peers()["uvloop"].start
            ],
        }
    )
    keys = servers.prepare(constant)

    count = instructions.count(constant, keys, instructions.PIPELINED, 960)

    # A system call and a few Python functions; starting Python takes millions.
    assert 200 < count < 20_000


@pytest.mark.parametrize("kind", in_process.KINDS)
def test_the_work_is_done_in_process(kind, monkeypatch, capsys):
    """Every kind is answered, however many requests are asked for."""
    monkeypatch.setattr("sys.stdin", ["32\n", "16\n"])
    # It stops this module's clock in the process that is counted.
    monkeypatch.setattr(fair_queue, "monotonic", fair_queue.monotonic)
    try:
        in_process.main(kind)
    finally:
        gc.unfreeze()

    assert capsys.readouterr().out == "ready\ndone\ndone\n"


def test_counts_of_another_machine_are_not_shown_beside_measurements():
    counts = render.counts_for(MACHINE, COUNTED)

    assert counts == {"nginx": "11,000", "Granian": "98,800"}
    assert render.counts_for(MACHINE | {"cpu": "Neoverse-N1"}, COUNTED) == {}
    assert render.counts_for(MACHINE | {"python": "3.12.1"}, COUNTED) == {}
    assert render.counts_for(MACHINE, {}) == {}


def test_the_page_shows_the_published_counts():
    published = results.read("instructions")

    page = render.PAGE.read_text(encoding="utf-8")
    assert render.counted_work(published) in page
