"""Concurrent clients."""

import threading

from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import PATIENCE

CLIENTS = 40
ROUNDS = 25


def test_forty_concurrent_clients_get_their_own_texts(api: Api) -> None:
    wrong: list[object] = []
    together = threading.Barrier(CLIENTS)

    def talk(number: int) -> None:
        try:
            with api.endpoint.connect() as connection:
                together.wait(PATIENCE)
                for turn in range(ROUNDS):
                    # Of one length, so that the head is repeated and not parsed again.
                    text = f"client {number:02} turn {turn:02} " + "ы" * (turn % 3)
                    connection.send(api.chat_bytes(draft(text)))
                    assert_echo(connection.read_answer(), text)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
