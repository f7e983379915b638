"""Send requests as raw bytes, in any pieces, and read all answers."""

import json
from collections.abc import Iterable, Sequence

from tests.support.wire import Answer, Connection, Endpoint

GOOD = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n"
"""A request whose answer shows whether a connection is still in sync."""


def post(*lines: bytes, body: bytes = b"") -> bytes:
    """Return a POST to the echo server with these field lines after Host."""
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: x", *lines, b"", b""]) + body


def post_body(body: bytes, *lines: bytes) -> bytes:
    return post(b"Content-Length: %d" % len(body), *lines, body=body)


def post_chunks(body: bytes, *lines: bytes) -> bytes:
    """Return a POST whose body is already in chunked coding."""
    return post(b"Transfer-Encoding: chunked", *lines, body=body)


def ask(
    endpoint: Endpoint, *pieces: bytes, bodiless: Sequence[int] = ()
) -> list[Answer]:
    """Send the pieces, close the sending half, and read all answers.

    `bodiless` are the indexes of HEAD requests. The server must close the connection.
    """
    with endpoint.connect() as connection:
        for piece in pieces:
            connection.send(piece)
        connection.finish_sending()
        return read_all(connection, bodiless)


def read_all(connection: Connection, bodiless: Sequence[int] = ()) -> list[Answer]:
    answers: list[Answer] = []
    while not connection.at_end():
        place = len([answer for answer in answers if answer.status >= 200])
        answers.append(connection.read_answer(bodiless=place in bodiless))
    return answers


def statuses(answers: Iterable[Answer]) -> list[int]:
    return [answer.status for answer in answers]


def code_of(answer: Answer) -> str:
    return json.loads(answer.body)["error"]["code"]


def assert_closing_refusal(answers: list[Answer], code: str) -> None:
    """Check that the only answer is a refusal that closes the connection."""
    assert [code_of(answer) for answer in answers] == [code], answers
    assert answers[0].header("Connection") == "close"


def assert_in_sync(connection: Connection) -> None:
    """Check that the next answer on the connection belongs to the next request."""
    connection.send(GOOD)
    answer = connection.read_answer()
    assert (answer.status, answer.body) == (200, b"hello\n")


def pieces_of(raw: bytes, size: int) -> list[bytes]:
    return [raw[start : start + size] for start in range(0, len(raw), size)]
