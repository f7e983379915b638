"""Where a body ends (RFC 9110 §8.6, RFC 9112 §6).

If the end of a request is in doubt, it is refused and the connection is closed: nothing
after it is read as a request. An upgrade may be ignored (RFC 9110 §7.8), but the body
must be read: the JDK's HTTP client offers HTTP/2 in every request.
"""

import pytest

from tests.support.api import Api, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    assert_in_sync,
    pieces_of,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.server import Server
from tests.support.tables import each
from tests.support.wire import Endpoint

TWO = b"2\r\nab\r\n0\r\n\r\n"

# RFC 9112 §6.1 and §6.3: unless there is one length, or chunked is the last coding, the
# end of the body is unknown. §11.2: with both, a request can smuggle another one.
NO_CLEAR_END = {
    "no length": b"Content-Length:",
    "a plus sign": b"Content-Length: +2",
    "hexadecimal": b"Content-Length: 0x2",
    "a space inside": b"Content-Length: 0 2",
    "a list of equals, as in gunicorn 26.0.0": b"Content-Length: 2, 2",
    "an Arabic digit": "Content-Length: ٢".encode(),
    "two to the power of 64": b"Content-Length: 18446744073709551616",
    "a hundred digits": b"Content-Length: " + b"9" * 100,
    "CVE-2021-22959: a space before the colon": b"Content-Length : 2",
    "twice, equal": b"Content-Length: 2\r\nContent-Length: 2",
    "twice, different": b"Content-Length: 2\r\nContent-Length: 3",
    "twice, the second folded": b"Content-Length: 2\r\nX: y\r\n Content-Length: 3",
    "CVE-2022-35256: after a bare LF, folded": b"X: y\n Content-Length: 2",
    "CVE-2023-30589: after a bare CR": b"X: y\rContent-Length: 2",
    "CVE-2024-27982: a space before the name": b" Content-Length: 2",
    "no coding": b"Transfer-Encoding:",
    "identity": b"Transfer-Encoding: identity",
    "a name that ends in chunked": b"Transfer-Encoding: xchunked",
    "CVE-2022-32213: a name that begins with chunked": b"Transfer-Encoding: chunkedx",
    "a parameter": b"Transfer-Encoding: chunked;q=1",
    "another coding after it": b"Transfer-Encoding: chunked, gzip",
    "chunked twice": b"Transfer-Encoding: chunked, chunked",
    "CVE-2024-1135: another line after it": b"Transfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: identity",
    "an empty member first": b"Transfer-Encoding: , chunked",
    "a form feed": b"Transfer-Encoding: chunked\x0c",
    "a NUL": b"Transfer-Encoding: \x00chunked",
    "CVE-2022-32215: a fold after it": b"Transfer-Encoding: chunked\r\n , x",
    "a space before the colon": b"Transfer-Encoding : chunked",
    "CVE-2022-32214: a bare LF before it": b"X: y\nTransfer-Encoding: chunked",
    "both, the length first": b"Content-Length: 2\r\nTransfer-Encoding: chunked",
    "both, the length last": b"Transfer-Encoding: chunked\r\nContent-Length: 2",
    "both, in other letters": b"cOnTeNt-LeNgTh: 2\r\nTRANSFER-ENCODING: Chunked",
    "CVE-2024-6827: an unknown coding": b"Transfer-Encoding: chunked,nonsense\r\n"
    b"Content-Length: 2",
}


@each("lines", NO_CLEAR_END)
def test_a_body_whose_end_is_in_doubt_is_refused(echo: Endpoint, lines: bytes) -> None:
    for body in (b"ab", TWO):
        answers = ask(echo, post(lines, body=body) + GOOD)
        assert_closing_refusal(answers, "malformed_request")


def test_another_coding_before_chunked_is_not_implemented(echo: Endpoint) -> None:
    for line in (
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: deflate, gzip,chunked",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: identity, chunked",
    ):
        answers = ask(echo, post(line, body=TWO) + GOOD)
        assert_closing_refusal(answers, "unsupported_transfer_coding")
        assert statuses(answers) == [501]


def test_a_coding_in_http_1_0_is_refused(echo: Endpoint) -> None:
    # RFC 9112 §6.1: the framing of such a message is faulty.
    raw = post_chunks(TWO).replace(b"HTTP/1.1", b"HTTP/1.0")
    for method in (b"POST", b"GET", b"BREW"):
        answers = ask(echo, raw.replace(b"POST", method, 1) + GOOD)
        assert_closing_refusal(answers, "malformed_request")


def test_a_length_or_coding_may_be_written_in_several_ways(echo: Endpoint) -> None:
    for length in (b"2", b"02", b"2 ", b"\t2\t", b"0" * 5000 + b"2"):
        answers = ask(echo, post(b"Content-Length:" + length, body=b"ab"), GOOD)
        assert [answer.body for answer in answers] == [b"ab", b"hello\n"]
    for coding in (b"chunked", b"Chunked", b"CHUNKED", b" \tchunked"):
        answers = ask(echo, post(b"Transfer-Encoding:" + coding, body=TWO), GOOD)
        assert [answer.body for answer in answers] == [b"ab", b"hello\n"]
    for other_name in (b"Content_Length", b"X-Content-Length", b"Length"):
        answers = ask(echo, post(other_name + b": 5"), GOOD)
        assert [answer.body for answer in answers] == [b"", b"hello\n"]


def test_a_repeated_head_inside_a_body_is_part_of_the_body(echo: Endpoint) -> None:
    # An earlier version took the second head for a request and answered it.
    head = post(b"Content-Length: 100000")
    with echo.connect() as connection:
        for _ in range(5):
            connection.send(head + b"y" * 100_000)
            assert connection.read_answer().status == 200
        body = b"y" * 90 + head + b"y" * (100_000 - 90 - len(head))
        connection.send_in_segments(head + body[:90], body[90:], gap=0.02)
        assert connection.read_answer().body == body
        assert_in_sync(connection)


def test_a_body_has_the_declared_length(echo: Endpoint) -> None:
    # gunicorn 26.0.0 read the rest of a body as a request.
    answers = ask(echo, post_body(b"x" * 1000), post_body(b""), post_body(GOOD), GOOD)
    bodies = [answer.body for answer in answers]
    assert bodies == [b"x" * 1000, b"", GOOD, b"hello\n"]


UPGRADES = {
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A",
    "WebSocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "CVE-2026-42544: high bytes": b"Connection: upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Protocol: \xff\xfe",
    "TLS": b"Connection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1",
    "twice": b"Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket",
    "in capitals": b"CONNECTION: UPGRADE\r\nUPGRADE: H2C",
    "nothing to upgrade to": b"Connection: Upgrade\r\nUpgrade:",
    "without Upgrade": b"Connection: Upgrade",
    "without Connection": b"Upgrade: h2c",
}


@each("lines", UPGRADES)
@pytest.mark.parametrize("size", [1_000_000, 1, 40])
def test_an_upgrade_is_ignored(echo: Endpoint, lines: bytes, size: int) -> None:
    body = post_body(b"ab", lines)
    raw = body + post_chunks(b"2\r\nab\r\n0\r\n\r\n", lines)
    raw += post_body(b"", lines) + body.replace(b"POST", b"BREW", 1)
    raw += body.replace(b"POST", b"GET", 1) + GOOD
    answers = ask(echo, *pieces_of(raw, size))
    bodies = [answer.body for answer in answers]
    assert bodies == [b"ab", b"ab", b"", b"ab", b"hello\n", b"hello\n"]
    assert not any(answer.header("Upgrade") for answer in answers)


REFUSED_FRAMINGS = {
    b"Transfer-Encoding: gzip": 400,
    b"Transfer-Encoding: gzip, chunked": 501,
    b"Content-Length: 2\r\nTransfer-Encoding: chunked": 400,
    b"Content-Length: x": 400,
}


@each("lines", UPGRADES)
def test_a_refused_framing_is_refused_with_an_upgrade_too(
    echo: Endpoint, lines: bytes
) -> None:
    # llhttp does not look at the framing of a request that it takes for an upgrade.
    for framing, status in REFUSED_FRAMINGS.items():
        [plain] = ask(echo, post(framing) + GOOD)
        for raw in (post(framing, lines), post(lines, framing)):
            [answer] = ask(echo, raw + GOOD)
            assert (answer.status, answer.body) == (status, plain.body)
            assert answer.header("X-Error-Detail") == plain.header("X-Error-Detail")


def test_no_bad_request_writes_a_log_line(server: Server, api: Api) -> None:
    # CVE-2025-47287: Tornado logged a warning for each error in a multipart body.
    before = (server.folder / "stderr").stat().st_size
    for framing in REFUSED_FRAMINGS:
        for method in (b"POST", b"CONNECT", b"BREW"):
            raw = post(framing, UPGRADES["h2c"]).replace(b"POST", method, 1)
            ask(api.endpoint, raw)
    for _ in range(100):
        ask(api.endpoint, b"garbage\x1b[31m\r\n\r\n")
        ask(api.endpoint, post_body(b"--x\r\n", b"Content-Type: x/y"))
        api.chat(draft("x", stream=True))
        api.ask("GET", "/\x5b31m")
    assert (server.folder / "stderr").stat().st_size == before
