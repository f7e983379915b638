"""Where a body ends (RFC 9110 §8.6, RFC 9112 §6).

If the end of a request is in doubt, it is refused and the connection is closed: nothing
after it is read as a request.
"""

import pytest

from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.tables import each
from tests.support.wire import Endpoint

TWO = b"2\r\nab\r\n0\r\n\r\n"

BAD_LENGTHS = {
    "nothing": b"Content-Length:",
    "a plus sign": b"Content-Length: +2",
    "a minus sign": b"Content-Length: -2",
    "hexadecimal": b"Content-Length: 0x2",
    "a fraction": b"Content-Length: 2.0",
    "an underscore": b"Content-Length: 0_2",
    "a letter after it": b"Content-Length: 2a",
    "a space inside": b"Content-Length: 0 2",
    "a list of equals, as in gunicorn 26.0.0": b"Content-Length: 2, 2",
    "a list": b"Content-Length: 2, 3",
    "a comma after it": b"Content-Length: 2,",
    "a vertical tab": b"Content-Length: \x0b2",
    "an Arabic digit": "Content-Length: ٢".encode(),
    "two to the power of 64": b"Content-Length: 18446744073709551616",
    "a hundred digits": b"Content-Length: " + b"9" * 100,
    "a fold": b"Content-Length: 0\r\n 2",
    "CVE-2021-22959: a space before the colon": b"Content-Length : 2",
    "twice, equal": b"Content-Length: 2\r\nContent-Length: 2",
    "twice, different": b"Content-Length: 2\r\nContent-Length: 3",
    "twice, the second folded away": b"Content-Length: 2\r\nX: y\r\n Content-Length: 3",
    "CVE-2022-35256: after a bare LF, folded": b"X: y\n Content-Length: 2",
    "CVE-2023-30589: after a bare CR": b"X: y\rContent-Length: 2",
    "CVE-2024-27982: a space before the name": b" Content-Length: 2",
}

# RFC 9112 §6.1 and §6.3: unless chunked is last, the end of the body is unknown.
ENDLESS_CODINGS = {
    "nothing": b"Transfer-Encoding:",
    "gzip": b"Transfer-Encoding: gzip",
    "identity": b"Transfer-Encoding: identity",
    "a name that ends so": b"Transfer-Encoding: xchunked",
    "CVE-2022-32213: a name that begins so": b"Transfer-Encoding: chunkedx",
    "quotes": b'Transfer-Encoding: "chunked"',
    "a parameter": b"Transfer-Encoding: chunked;q=1",
    "another after it": b"Transfer-Encoding: chunked, gzip",
    "it twice": b"Transfer-Encoding: chunked, chunked",
    "it in two lines": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "CVE-2024-1135: another line after it": b"Transfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: identity",
    "a line before it": b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked,x",
    "an empty member first": b"Transfer-Encoding: , chunked",
    "a vertical tab": b"Transfer-Encoding: \x0bchunked",
    "a form feed": b"Transfer-Encoding: chunked\x0c",
    "a NUL": b"Transfer-Encoding: \x00chunked",
    "a high byte": b"Transfer-Encoding: \xffchunked",
    "a Kelvin sign": "Transfer-Encoding: chun\u212aed".encode(),
    "a fold": b"Transfer-Encoding:\r\n chunked",
    "CVE-2022-32215: a fold after it": b"Transfer-Encoding: chunked\r\n , x",
    "a space before the colon": b"Transfer-Encoding : chunked",
    "a tab before the colon": b"Transfer-Encoding\t: chunked",
    "a space before the name": b" Transfer-Encoding: chunked",
    "a bare CR before it": b"X: y\rTransfer-Encoding: chunked",
    "CVE-2022-32214: a bare LF before it": b"X: y\nTransfer-Encoding: chunked",
}

BOTH = {
    "the length first": b"Content-Length: 2\r\nTransfer-Encoding: chunked",
    "the length last": b"Transfer-Encoding: chunked\r\nContent-Length: 2",
    "other letters": b"cOnTeNt-LeNgTh: 2\r\nTRANSFER-ENCODING: Chunked",
    "with an upgrade": b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: Upgrade\r\nUpgrade: h2c",
    "identity": b"Transfer-Encoding: identity\r\nContent-Length: 2",
    "CVE-2024-6827: an unknown coding": b"Transfer-Encoding: chunked,nonsense\r\n"
    b"Content-Length: 2",
}


@each("line", BAD_LENGTHS)
def test_a_length_that_is_not_one_number_is_refused(
    echo: Endpoint, line: bytes
) -> None:
    assert_closing_refusal(
        ask(echo, post(line, body=b"ab") + GOOD), "malformed_request"
    )


@each("line", ENDLESS_CODINGS)
def test_a_coding_that_does_not_end_in_chunked_once_is_refused(
    echo: Endpoint, line: bytes
) -> None:
    assert_closing_refusal(ask(echo, post(line, body=TWO) + GOOD), "malformed_request")


@each("lines", BOTH)
def test_a_length_together_with_a_coding_is_refused(
    echo: Endpoint, lines: bytes
) -> None:
    # RFC 9112 §6.3 and §11.2: such a request can smuggle another one.
    assert_closing_refusal(ask(echo, post(lines, body=TWO) + GOOD), "malformed_request")


@pytest.mark.parametrize(
    "line",
    [
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: deflate, gzip,chunked",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: identity, chunked",
    ],
)
def test_another_coding_before_chunked_is_not_implemented(
    echo: Endpoint, line: bytes
) -> None:
    answers = ask(echo, post(line, body=TWO) + GOOD)
    assert_closing_refusal(answers, "unsupported_transfer_coding")
    assert statuses(answers) == [501]


@pytest.mark.parametrize("method", [b"POST", b"GET", b"BREW"])
def test_a_coding_in_http_1_0_is_refused(echo: Endpoint, method: bytes) -> None:
    # RFC 9112 §6.1: such framing is faulty, whoever sent it.
    raw = post_chunks(TWO).replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"POST", method, 1)
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize("length", [b"2", b"02", b"2 ", b"\t2\t", b"0" * 5000 + b"2"])
def test_a_length_may_have_white_space_around(echo: Endpoint, length: bytes) -> None:
    answers = ask(echo, post(b"Content-Length:" + length, body=b"ab"), GOOD)
    assert [answer.body for answer in answers] == [b"ab", b"hello\n"]


@pytest.mark.parametrize("coding", [b"chunked", b"Chunked", b"CHUNKED", b" \tchunked"])
def test_chunked_is_case_insensitive(echo: Endpoint, coding: bytes) -> None:
    answers = ask(echo, post(b"Transfer-Encoding:" + coding, body=TWO), GOOD)
    assert [answer.body for answer in answers] == [b"ab", b"hello\n"]


@pytest.mark.parametrize("name", [b"Content_Length", b"X-Content-Length", b"Length"])
def test_a_field_that_resembles_a_length_is_ignored(
    echo: Endpoint, name: bytes
) -> None:
    answers = ask(echo, post(name + b": 5"), GOOD)
    assert [answer.body for answer in answers] == [b"", b"hello\n"]


def test_a_body_has_the_declared_length(echo: Endpoint) -> None:
    # gunicorn 26.0.0 read the rest of a body as a request.
    answers = ask(echo, post_body(b"x" * 1000), post_body(b""), post_body(GOOD), GOOD)
    bodies = [answer.body for answer in answers]
    assert bodies == [b"x" * 1000, b"", GOOD, b"hello\n"]


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"BREW"])
def test_a_body_is_read_whatever_the_method(echo: Endpoint, method: bytes) -> None:
    # RFC 9112 §6: the presence of a body depends on the framing alone.
    raw = post_body(GOOD).replace(b"POST", method, 1)
    assert statuses(ask(echo, raw, GOOD, bodiless=(0,) * (method == b"HEAD"))) == [
        200,
        200,
    ]
