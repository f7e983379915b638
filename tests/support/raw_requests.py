"""How the wire tests speak: bytes in, a list of answers out.

Requests are upper-case byte constants in the tests; here is what sends them in one
piece or in many, and what reads answers until the server has no more to say.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.wire import Answer, Connection, Endpoint

GOOD = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n"
"""A request that tells whether a connection is still in step."""


def post(*lines: bytes, body: bytes = b"") -> bytes:
    """A POST to the echo with these field lines after Host."""
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: x", *lines, b"", b""]) + body


def sized(body: bytes, *lines: bytes) -> bytes:
    return post(b"Content-Length: %d" % len(body), *lines, body=body)


def chunky(body: bytes, *lines: bytes) -> bytes:
    """A POST whose body stands here as it goes over the wire, chunk by chunk."""
    return post(b"Transfer-Encoding: chunked", *lines, body=body)


def ask(
    endpoint: Endpoint, *pieces: bytes, bodiless: Sequence[int] = ()
) -> list[Answer]:
    """Send the pieces, say that nothing more comes, and read all answers.

    `bodiless` are the places of HEAD requests. The server must hang up by itself.
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
    error: dict[str, Any] = json.loads(answer.body)["error"]
    return str(error["code"])


def assert_turned_away(answers: list[Answer], code: str) -> None:
    """Refused once with this code, and told that the connection ends."""
    assert [code_of(answer) for answer in answers] == [code], answers
    assert answers[0].header("Connection") == "close"


def assert_in_step(connection: Connection) -> None:
    """The connection goes on, and its next answer belongs to its next request."""
    connection.send(GOOD)
    answer = connection.read_answer()
    assert (answer.status, answer.body) == (200, b"hello\n")


def pieces_of(raw: bytes, size: int) -> list[bytes]:
    return [raw[start : start + size] for start in range(0, len(raw), size)]
