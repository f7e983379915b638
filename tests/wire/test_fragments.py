"""However the bytes are split, the answers are the same (RFC 9112 §2.2).

TCP has no messages: a head may arrive in many segments, and three requests in one.
"""

from tests.support.raw_requests import GOOD, ask, post, post_body, post_chunks
from tests.support.tables import each
from tests.support.wire import Answer, Endpoint

STREAMS = {
    "a request": GOOD,
    "a body": post_body(b"body", b"Content-Type: text/x"),
    "chunks": post_chunks(b"3;a=b\r\nabc\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n"),
    "an upgrade": post_body(b"up", b"Connection: Upgrade", b"Upgrade: h2c"),
    "an unknown method": b"BREW /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
    "empty lines first": b"\r\n\r\n\r\n" + GOOD,
    "an absolute target": b"GET http://x/y HTTP/1.1\r\nHost: x\r\n\r\n",
    "three requests": GOOD + post_body(b"\r\n\r\n") + GOOD,
    "chunks, then a request": post_chunks(b"1\r\n\r\r\n0\r\n\r\n") + GOOD,
    "a request, then garbage": GOOD + b"\x00garbage\r\n\r\n",
    "a bad field": post(b"X : y") + GOOD,
    "a bad chunk": post_chunks(b"2\r\nabc\r\n0\r\n\r\n") + GOOD,
    "a bare LF": b"GET / HTTP/1.1\nHost: x\n\n",
    "a bare CR": b"GET / HTTP/1.1\rHost: x\r\n\r\n",
    "a control, then a bare LF": b"GET / HTTP/1.1\r\nX: \x01\r\nY: \n\r\n\r\n",
    "a bare LF, then a control": b"GET / HTTP/1.1\r\nX: \n\r\nY: \x01\r\n\r\n",
    "a control, then a bare CR": b"GET / HTTP/1.1\r\nX: \x01\r\nY: \rz\r\n\r\n",
    "a bare CR before a line end": b"GET / HTTP/1.1\r\nX: \r\r\nY: \x01\r\n\r\n",
    "a bad line, then a control": b"GET  /\r\nX : y\r\nZ: \x01\r\n\r\n",
    "no Host and two lengths": b"GET / HTTP/1.1\r\nContent-Length: 1\r\n"
    b"Content-Length: 2\r\n\r\n",
    "too many empty lines": b"\r\n" * 5 + GOOD,
    "a bad chunk, then a large one": post_chunks(b"1\r\na\r\nx\r\nfffffff\r\n"),
    "a large chunk, then a bad one": post_chunks(b"1\r\na\r\nfffffff\r\nx\r\n"),
    "a version of the future": GOOD.replace(b"1.1", b"1.7") * 2,
    "close in the middle": post(b"Connection: close") + GOOD,
    "both framings": post(b"Content-Length: 1", b"Transfer-Encoding: chunked") + GOOD,
    "a large refusal": post(b"Content-Length: 2000000") + GOOD,
}


def essence(answers: list[Answer]) -> list[object]:
    """Return what must not depend on the splits; an interim 100 may."""
    return [
        (
            answer.status,
            answer.header("Connection"),
            answer.header("X-Error-Detail"),
            answer.body,
        )
        for answer in answers
        if answer.status != 100
    ]


@each("raw", STREAMS)
def test_one_split_anywhere_changes_nothing(echo: Endpoint, raw: bytes) -> None:
    whole = essence(ask(echo, raw))
    assert whole
    for place in range(1, len(raw)):
        assert essence(ask(echo, raw[:place], raw[place:])) == whole, place
