"""The kinds of traffic of a deployment: what is sent, and how the results are shown."""

import socket
import ssl
import threading

import pytest
from bench import (
    conformance,
    render,
    results,
    servers,
    tls_load,
    traffic,
    traffic_page,
)
from bench.errors import MeasurementError
from bench.goals import Measurements
from bench.peer import load_peers
from bench.traffic import KINDS, MANY_CLIENTS, MANY_KEYS, NEW_CONNECTIONS, ONE_KEY

from tests.support.authority import Authority

KEYS = [f"key-{number}" for number in range(traffic.KEYS)]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def rounds(*efficiencies: float) -> list[dict[str, float]]:
    return [{"per_cpu_second": each} for each in efficiencies]


def peer(title: str, family: str, *, contract: bool, **kinds: float) -> dict:
    names = {"one": ONE_KEY, "keys": MANY_KEYS, "clients": MANY_CLIENTS}
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
    "nginx": peer("nginx", "limit", contract=False, one=100, keys=90, clients=80),
    "uvloop": peer("uvloop", "limit", contract=False, one=140),
    "go": peer("Go", "framework", contract=True, one=20, keys=18, clients=16),
    "readback": peer("Readback", "readback", contract=True, one=60, keys=45),
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
    assert used[MANY_KEYS] == used[MANY_CLIENTS] == {*KEYS}
    addresses = {
        kind: {each.forwarded_for for each in requests}
        for kind, requests in sent.items()
    }
    assert addresses[ONE_KEY] == addresses[MANY_KEYS] == addresses[NEW_CONNECTIONS]
    assert len(addresses[ONE_KEY]) == 1
    assert len(addresses[MANY_CLIENTS]) == traffic.KEYS
    assert [kind for kind, each in sent.items() if each[0].close] == [NEW_CONNECTIONS]


def test_the_table_compares_with_nginx_and_the_same_traffic(published):
    lines = traffic_page.table(published, PEERS).splitlines()[2:]

    assert lines == [
        "| nginx | 100 (1) | 90 (1) | 80 (1) | – | – | – |",
        "| **Readback** | 60 (0.6) | 45 (0.5) | – | – | – | – |",
        "| Go | 20 (0.2) | 18 (0.2) | 16 (0.2) | – | – | – |",
    ]


def test_traffic_that_was_not_measured_has_a_reason(published):
    assert published.traffic("readback", ONE_KEY) == rounds(60)
    with pytest.raises(MeasurementError, match="no results for readback with"):
        published.traffic("readback", MANY_CLIENTS)


def test_the_page_shows_the_published_traffic():
    page = render.PAGE.read_text(encoding="utf-8")
    found = Measurements(published=True)

    assert traffic_page.table(found, results.read("peers")["peers"]) in page
    assert traffic_page.tls_table(found) in page


def test_a_server_that_was_not_measured_with_tls_has_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "PUBLISHED", tmp_path)
    figures = {
        f"{name}_{kind}": rounds(value)
        for name, value in (("nginx", 10), ("readback", 5))
        for kind in ("full", "resumed")
    } | {"go_not_measured": "go is not installed"}
    results.write("goals", {"scenarios": {"tls": {"figures": figures}}}, published=True)

    table = traffic_page.tls_table(Measurements(published=True))

    assert "| **Readback** | 5 (0.5) | 5 (0.5) |" in table
    assert "| Go net/http | not measured: go is not installed | – |" in table


@pytest.mark.parametrize("resume", [False, True])
def test_a_tls_session_is_resumed_only_if_wanted(tmp_path, resume):
    context = Authority(tmp_path).serves("127.0.0.1")
    resumed: list[bool] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve, args=[listener, context, resumed])
        serving.start()
        port = listener.getsockname()[1]

        found = tls_load.measure(port, b"GET / HTTP/1.1\r\n\r\n", 0.2, resume)

        with socket.create_connection(("127.0.0.1", port)):
            pass  # the end
        serving.join()
    assert found["requests"] == len(resumed)
    assert resumed == [resume and number > 0 for number in range(len(resumed))]


def serve(
    listener: socket.socket, context: ssl.SSLContext, resumed: list[bool]
) -> None:
    """Answer one request per connection until one ends without a handshake."""
    while True:
        plain, _ = listener.accept()
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(ANSWER)
                resumed.append(connection.session_reused)
        except (ssl.SSLError, ConnectionError):
            return


@pytest.mark.long
def test_readback_accepts_all_keys_of_the_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "WORKSPACE", tmp_path)
    readback = load_peers()["readback"]
    accepted = servers.prepare(readback)
    certificate = Authority(tmp_path / "authority").issue("127.0.0.1")

    with servers.running(readback, accepted) as server:
        conformance.check(server)
        statuses = {
            servers.send(server.port, request)[0]
            for kind in (MANY_CLIENTS, NEW_CONNECTIONS)
            for request in KINDS[kind](server.keys)[-3:]
        }
    with servers.running(readback, accepted, certificate=certificate) as server:
        statuses.add(servers.send(server.port, server.request(), tls=True)[0])

    assert len(set(accepted)) == traffic.KEYS
    assert statuses == {200}
