"""Known vulnerabilities of similar servers, by their CVE number or release.

Each row sends what the report describes. What other files of this folder already cover
is not repeated here.
"""

import pytest

from tests.support.api import MODELS, Api, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    pieces_of,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.server import Server
from tests.support.tables import each
from tests.support.wire import Endpoint, request

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = {
    "CVE-2024-1135: two codings": post(
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: identity",
        body=b"0\r\n\r\n",
    ),
    "CVE-2024-6827: an unknown coding and a length": post(
        b"Content-Length: 6", b"Transfer-Encoding: chunked,nonsense", body=b"0\r\n\r\nX"
    ),
    "gunicorn 26.0.0: a length that is a list": post(b"Content-Length: 0, 34"),
    "gunicorn 26.0.0: a control in a value": post(b"X: a\x08b"),
    "CVE-2025-43859: chunk data without its end": post_chunks(
        b"5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n"
    ),
    "CVE-2024-52304: a line feed in an extension": post_chunks(
        b"4;x\nyy\r\nabcd\r\n0\r\n\r\n"
    ),
    "CVE-2025-53643: a smuggling trailer": post_chunks(
        b"0\r\nContent-Length: 34\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "CVE-2026-34525: two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "CVE-2021-22959: a space before the colon": post(b"Content-Length : 34"),
    "CVE-2021-22960: chunk extensions": post_chunks(b"1\n;x\r\na\r\n0\r\n\r\n"),
    "CVE-2022-32213: a misspelt coding": post(b"Transfer-Encoding: chunkedx"),
    "CVE-2022-32214: a header ended by LF": post(b"X: y\nTransfer-Encoding: chunked"),
    "CVE-2022-32215: a coding in two lines": post(
        b"Transfer-Encoding: chunked\r\n , x"
    ),
    "CVE-2022-35256: a line without CR LF": post(b"X: y\n Content-Length: 34"),
    "CVE-2023-30589: a CR that ends a line": post(b"X: y\rContent-Length: 34"),
    "CVE-2024-27982: a space before the length": post(b" Content-Length: 34"),
    "CVE-2025-23167: a false end of the head": post(b"X: y\r\n\rX", body=b"\r\n"),
    "CVE-2026-48710: a path in the host": b"GET / HTTP/1.1\r\nHost: x/a?y=\r\n\r\n",
}


@each("raw", REFUSED)
@pytest.mark.parametrize("size", [1_000_000, 3])
def test_a_smuggling_attempt_is_refused(echo: Endpoint, raw: bytes, size: int) -> None:
    answers = ask(echo, *pieces_of(raw + SMUGGLED, size))
    assert_closing_refusal(answers, "malformed_request")


def test_a_target_beyond_65535_bytes_is_not_truncated(api: Api) -> None:
    # httptools before 0.8.0: the truncated target could be a valid path.
    for size in (65_535, 65_536, 65_536 + len(MODELS)):
        raw = b"GET " + b"/" * size + MODELS.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        assert statuses(ask(api.endpoint, *pieces_of(raw, 4096))) == [414]


def test_the_rest_of_a_body_is_not_read_as_a_request(echo: Endpoint) -> None:
    # gunicorn 26.0.0: the rest of a body was read as a request.
    raw = post(b"Content-Length: %d" % (len(SMUGGLED) + 5), body=SMUGGLED)
    assert ask(echo, raw) == []
    answers = ask(echo, raw + b"12345" + GOOD)
    assert [answer.body for answer in answers] == [SMUGGLED + b"12345", b"hello\n"]


def test_clients_that_close_at_once_do_no_harm(echo: Endpoint) -> None:
    # CVE-2024-49769: a busy loop if the client left before its first answer.
    for _ in range(200):
        with echo.connect() as connection:
            connection.send(GOOD[:7])
    with echo.connect() as connection:
        connection.send(GOOD)
        assert connection.read_answer().status == 200


def test_the_same_field_a_hundred_times_is_accepted(api: Api) -> None:
    # CVE-2025-67725: joining them took quadratic time.
    fields = [*api.usual_fields, *[("Cookie", "a=b")] * 98]
    raw = request("GET", MODELS, fields)
    assert statuses(ask(api.endpoint, raw * 50)) == [200] * 50


def test_a_flood_of_bad_requests_writes_no_log(server: Server, api: Api) -> None:
    # CVE-2025-47287: each of them wrote a warning.
    before = (server.folder / "stderr").stat().st_size
    for raw in (
        b"garbage\x1b[31m\r\n\r\n",
        post_body(b"--x\r\n", b"Content-Type: x/y"),
    ):
        for _ in range(100):
            ask(api.endpoint, raw)
    for _ in range(100):
        api.chat(draft("x", stream=True))
        api.ask("GET", "/\x5b31m")
    assert (server.folder / "stderr").stat().st_size == before
