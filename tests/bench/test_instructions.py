"""Instructions are counted for a real server, and shown only for the same machine."""

import gc
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from bench import in_process, instructions, proc, render, results, servers
from bench.peer import Peer, load_peers

from readback.api.http import fair_queue

BUILT = {"compiler": "GCC 12.2.0", "pgo": True, "lto": False}
MACHINE = {"cpu": "Xeon", "architecture": "x86_64", "python": "3.11.7"}
COUNTED = {
    "date": "2026-11-16T10:00:00+00:00",
    "machine": MACHINE | {"python_build": BUILT},
    "method": {"requests": 960},
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
        "node": {"title": "Node.js", "family": "framework", "not_counted": "a reason"},
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


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("valgrind"), reason=instructions.NO_VALGRIND)
def test_two_counts_beside_busy_programs_are_the_same():
    kinds = [instructions.MANY_CLIENTS, instructions.RECONNECT]
    counts = []
    for busy in (0, 2):
        with busy_loops(busy):
            counts.append(instructions.count_in_process(kinds=kinds))

    for kind in kinds:
        first, second = (count[kind] for count in counts)
        assert first > 10_000
        assert abs(first - second) < 0.02 * first


@contextmanager
def busy_loops(number: int):
    """Run programs that keep the cores busy."""
    command = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(number):
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
        yield


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


def test_what_is_counted_in_process_is_shown_with_the_event_loop():
    cases = {instructions.REPEATED: 4_000}
    uvloop = {"title": "uvloop", "family": "limit", "cases": cases}
    ours = {
        "title": "Readback",
        "family": "readback",
        "in_process": True,
        "cases": {instructions.REPEATED: 16_000, instructions.MANY_CLIENTS: 30_000},
    }
    counted = COUNTED | {"peers": {"uvloop": uvloop, "readback": ours}}

    assert render.counts_for(MACHINE, counted)["Readback"] == "20,000"
    page = render.counted_work(counted)
    assert "| request | Readback, in process |" in page
    assert f"| {instructions.MANY_CLIENTS} | 30,000 |" in page
    assert "| **Readback** | 20,000 |" in page


def test_counts_of_another_machine_are_not_shown_beside_measurements():
    counts = render.counts_for(MACHINE, COUNTED)

    assert counts == {"nginx": "11,000", "Granian": "98,800"}
    assert render.counts_for(MACHINE | {"cpu": "Neoverse-N1"}, COUNTED) == {}
    assert render.counts_for(MACHINE | {"python": "3.12.1"}, COUNTED) == {}
    assert render.counts_for(MACHINE, {}) == {}


def test_what_was_not_counted_is_a_dash_or_has_a_reason():
    page = render.counted_work(COUNTED)

    assert "Python 3.11.7 (GCC 12.2.0, with PGO, without LTO)" in page
    assert f"| {instructions.RECONNECT} | 13,800 |" in page
    assert f"| {instructions.CYRILLIC} | – |" in page
    assert "| Granian | 98,800 |" in page
    assert "- Node.js was not counted: a reason." in page


def test_the_page_shows_the_published_counts():
    published = results.read("instructions")

    page = render.PAGE.read_text(encoding="utf-8")
    assert render.counted_work(published) in page


@pytest.mark.parametrize(
    ("flags", "pgo", "lto"),
    [
        ("'--prefix=/usr' '--enable-shared'", False, False),
        ("'--enable-optimizations' '--with-lto'", True, True),
        ("-O3 -fprofile-use -fprofile-correction", True, False),
    ],
)
def test_the_build_of_python_is_read_from_its_flags(monkeypatch, flags, pgo, lto):
    monkeypatch.setattr(proc.sysconfig, "get_config_var", lambda name: flags)

    monkeypatch.setattr(proc.sys, "base_prefix", "/opt/python")
    found = proc.describe_python_build()

    assert (found["pgo"], found["lto"]) == (pgo, lto)


def test_the_build_of_debians_python_is_unknown(monkeypatch):
    monkeypatch.setattr(proc.sysconfig, "get_config_var", lambda name: "-O2")
    monkeypatch.setattr(proc.sys, "base_prefix", "/usr")

    found = proc.describe_python_build()

    assert (found["pgo"], found["lto"]) == (None, None)
    assert "perhaps with PGO" in render.build({"python_build": found})
