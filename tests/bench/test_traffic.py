"""The kinds of traffic of a deployment: what is sent, and how the results are shown."""

import pytest
from bench import conformance, render, results, servers, traffic
from bench.errors import MeasurementError
from bench.goals import Measurements
from bench.peer import load_peers
from bench.traffic import (
    ANY_ADDRESS,
    ANY_TEXT,
    KINDS,
    MANY_CLIENTS,
    NEW_CONNECTIONS,
    ONE_KEY,
)

KEYS = [f"key-{number}" for number in range(traffic.KEYS)]


def rounds(*efficiencies: float) -> list[dict[str, float]]:
    return [{"per_cpu_second": each} for each in efficiencies]


def peer(title: str, family: str, *, contract: bool, **kinds: float) -> dict:
    names = {"one": ONE_KEY, "texts": ANY_TEXT, "clients": MANY_CLIENTS}
    measured = {names[each]: rounds(value) for each, value in kinds.items()}
    return {
        "title": title,
        "family": family,
        "key": "checked" if contract else "ignored",
        "echoes": contract,
        "rounds": measured.pop(ONE_KEY),
        "traffic": measured,
    }


PEERS = {
    "nginx": peer("nginx", "limit", contract=False, one=100, texts=90, clients=80),
    "uvloop": peer("uvloop", "limit", contract=False, one=140),
    "go": peer("Go", "framework", contract=True, one=20, texts=18, clients=16),
    "readback": peer("Readback", "readback", contract=True, one=60, texts=45),
}


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "PUBLISHED", tmp_path)
    results.write("peers", {"peers": PEERS}, published=True)
    return Measurements(published=True)


def test_each_kind_of_traffic_has_its_keys_addresses_and_connections():
    sent = {kind: requests_of(KEYS) for kind, requests_of in KINDS.items()}

    used = {kind: {each.key for each in requests} for kind, requests in sent.items()}
    assert used[ONE_KEY] == used[NEW_CONNECTIONS] == {"key-0"}
    assert used[ANY_TEXT] == used[MANY_CLIENTS] == {*KEYS}
    addresses = {
        kind: {each.forwarded_for for each in requests}
        for kind, requests in sent.items()
    }
    assert addresses[ONE_KEY] == addresses[NEW_CONNECTIONS]
    assert len(addresses[ONE_KEY]) == 1
    assert len(addresses[MANY_CLIENTS]) == len(addresses[ANY_TEXT]) == traffic.KEYS
    assert len(addresses[ANY_ADDRESS]) == len(sent[ANY_ADDRESS])
    assert [kind for kind, each in sent.items() if each[0].close] == [NEW_CONNECTIONS]


def test_the_table_compares_with_nginx_and_the_same_traffic(published):
    lines = render.traffic_table(PEERS).splitlines()[2:]

    assert lines == [
        "| nginx | 90 (1) | – | 80 (1) | 100 (1) | – |",
        "| **Readback** | 45 (0.5) | – | – | 60 (0.6) | – |",
        "| Go | 18 (0.2) | – | 16 (0.2) | 20 (0.2) | – |",
    ]


def test_traffic_that_was_not_measured_has_a_reason(published):
    assert published.traffic("readback", ONE_KEY) == rounds(60)
    with pytest.raises(MeasurementError, match="no results for readback with"):
        published.traffic("readback", MANY_CLIENTS)


def test_the_page_shows_the_published_traffic():
    page = render.PAGE.read_text(encoding="utf-8")

    assert render.traffic_table(results.read("peers")["peers"]) in page


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
