"""A head is found by its digest, for as long as its responder can answer it."""

import asyncio
from collections.abc import Iterator
from typing import cast

import pytest
from tests.support.work import StoringTransport, Worker, _behind_proxy, _chat

from readback import keys
from readback.api.http import known_heads
from readback.api.http.connection import Connection


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    # The API asks `get_running_loop` for its loop, which now returns this one.
    asyncio._set_running_loop(cast(asyncio.AbstractEventLoop, worker.loop))
    yield worker
    asyncio._set_running_loop(None)


@pytest.fixture
def client(worker: Worker) -> tuple[Connection, StoringTransport]:
    return worker.connect()


def send(
    worker: Worker, client: tuple[Connection, StoringTransport], raw: bytes
) -> bytes:
    connection, transport = client
    connection.data_received(raw)
    worker.settle()
    return transport.response[:12]


def all_known(worker: Worker) -> dict[bytes, known_heads.Known]:
    return worker.registry.known_heads._known


def test_heads_of_several_clients_are_known_without_their_keys(worker, client):
    requests = [_behind_proxy(_chat(key), n) for n, key in enumerate(worker.keys[:3])]
    for raw in requests * 3:
        assert send(worker, client, raw) == b"HTTP/1.1 200"
    assert len(all_known(worker)) == 3
    for digest, (_, head, *_) in all_known(worker).items():
        assert len(digest) == 64
        assert not any(keys.contains_key(value) for _, value in head.fields)


def test_a_head_without_the_clients_address_is_known_of_one_peer(worker, client):
    requests = [_chat(key) for key in worker.keys[:2]]
    for raw in requests * 3:
        assert send(worker, client, raw) == b"HTTP/1.1 200"
    addresses = [known[2].address for known in all_known(worker).values()]
    assert addresses == ["127.0.0.1", "127.0.0.1"]
    # The address decides to which row of the journal a request belongs.
    another = worker.connect()
    another[0]._address = "192.0.2.7"
    send(worker, another, requests[0])
    addresses = {known[2].address for known in all_known(worker).values()}
    assert addresses == {"127.0.0.1", "192.0.2.7"}


def test_a_key_that_is_no_longer_accepted_makes_its_head_unknown(worker, client):
    requests = [_behind_proxy(_chat(key), 1) for key in worker.keys[:2]]
    for raw in requests * 3:
        send(worker, client, raw)
    record = worker.keyring.find(keys.digest(worker.keys[0].encode()))
    record.accepted = False
    assert send(worker, client, requests[0]) == b"HTTP/1.1 401"
    assert len(all_known(worker)) == 1
    record.accepted = True
    send(worker, client, requests[1])
    assert send(worker, client, requests[0]) == b"HTTP/1.1 200"


def test_there_are_never_more_than_the_bound(worker, client, monkeypatch):
    monkeypatch.setattr(known_heads, "MAX_KNOWN", 4)
    for number in range(40):
        key = worker.keys[number % 7]
        assert (
            send(worker, client, _behind_proxy(_chat(key), number)) == b"HTTP/1.1 200"
        )
        assert len(all_known(worker)) <= 4
