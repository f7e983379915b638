"""Pass packets to the API without a network; return its answers and its journal."""

import re
from collections import Counter
from typing import Any

from readback.http.connection import Connection
from tests.support.work import StoringTransport, Worker

Row = tuple[object, ...]
"""An outcome, as the journal records it."""
# What differs between two answers to the same request.
_ID = re.compile(rb'(X-Request-Id: |"id":")[0-9a-f-]{36}')
_CREATED = re.compile(rb'"created":[0-9]{10}')
# Whether an interim answer is sent may depend on how the bytes were split.
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class RecordingTransport(StoringTransport):
    """Collects everything that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self._finished = False

    def write(self, data: Any) -> None:
        assert not self.closing, "an answer after the connection was closed"
        assert not self._finished, "an answer after the last one"
        self.written += data

    def write_eof(self) -> None:
        self._finished = True

    def abort(self) -> None:
        self.closing = True


def answers_of(
    worker: Worker, pieces: list[bytes], in_one_round: bool = False
) -> bytes:
    """Return everything that a new connection answers to these packets.

    With `in_one_round`, all packets and the end of the stream are read before the event
    loop does anything else.
    """
    connection = Connection(worker.registry)
    transport = RecordingTransport()
    connection.connection_made(transport)
    for piece in pieces:
        if not transport.closing:
            connection.data_received(piece)
            if not in_one_round:
                _settle(worker)
    if not transport.closing:
        connection.eof_received()
        _settle(worker)
    connection.connection_lost(None)
    return _comparable(bytes(transport.written))


def _comparable(answers: bytes) -> bytes:
    answers = _ID.sub(rb"\g<1>" + b"0" * 36, answers.replace(_CONTINUE, b""))
    return _CREATED.sub(b'"created":' + b"0" * 10, answers)


def _settle(worker: Worker) -> None:
    while worker.loop.callbacks or worker.lookups:
        worker.settle()


def rows_of(worker: Worker) -> Counter[Row]:
    """Return the rows that would be written to the journal, and remove them."""
    journal = worker.api._services.journal
    journal.hurry()
    journal.close(0.0, 0.0)
    tallies = journal.fetch(len(journal), lambda digest: 0)
    for own in list(journal._keys.values()):
        for tally in list(own.values()):
            journal._forget(tally)
    return Counter({(*tally.event, tally.sender): tally.requests for tally in tallies})
