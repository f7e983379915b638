"""One sample of each rule of HTTP, as a client of the API sees it.

`tests/wire` has the whole tables, against our protocol code alone. Whatever leaves the
end of a request in doubt is refused in the usual form and ends the connection (RFC 9112
§11.2).
"""

import pytest

from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    assert_refused_and_closed,
    assert_success,
    compact,
    draft,
)
from tests.support.tables import each
from tests.support.wire import request

LARGEST_HEAD = 16_384

# HOST and KEY are replaced by the valid values.
START = b"GET /v1/models HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer KEY\r\n"
POST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer KEY\r\n"
)
MALFORMED = {
    "another version": START.replace(b"HTTP/1.1", b"HTTP/2.0") + b"\r\n",
    "no version": START.replace(b" HTTP/1.1", b"") + b"\r\n",
    "a method that is not a token": START.replace(b"GET", b"G@T") + b"\r\n",
    "a relative target": START.replace(b"/v1", b"v1") + b"\r\n",
    "a folded line": START + b"X-A: 1\r\n 2\r\n\r\n",
    "a space before the colon": START + b"X-A : 1\r\n\r\n",
    "a NUL in the key": START.replace(b"KEY", b"\x00") + b"\r\n",
    "lines that end in a bare LF": START.replace(b"\r\n", b"\n") + b"\n",
    "no Host": START.replace(b"Host: HOST\r\n", b"") + b"\r\n",
    "a second Host": START + b"Host: HOST\r\n\r\n",
    "a bad Host": START.replace(b"HOST", b"a@b") + b"\r\n",
    "a bad length": POST + b"Content-Length: +2\r\n\r\n{}",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a length and chunks": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding without an end": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "a bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": POST.replace(b"HTTP/1.1", b"HTTP/1.0")
    + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a TLS greeting": bytes.fromhex("16030100a5010000a10303") + bytes(160),
    "an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
}


def filled(api: Api, raw: bytes) -> bytes:
    host = api.endpoint.authority.encode()
    return raw.replace(b"HOST", host).replace(b"KEY", api.key.encode())


@each("raw", MALFORMED)
def test_a_malformed_request_is_refused_and_nothing_after_it_is_read(
    api: Api, raw: bytes
) -> None:
    # `send` fails if there is a second answer.
    good = request("GET", MODELS, api.usual_fields)
    answer = api.send(filled(api, raw) + good)
    assert_refused_and_closed(answer, "malformed_request")


def test_a_known_coding_before_chunked_is_not_implemented(api: Api) -> None:
    raw = filled(api, POST) + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    assert_refused_and_closed(api.send(raw), "unsupported_transfer_coding")


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.2", b"HTTP/1.9"])
def test_another_minor_version_is_accepted(api: Api, version: bytes) -> None:
    raw = filled(api, START + b"\r\n").replace(b"HTTP/1.1", version)
    assert_success(api.send(raw))


def head_of(api: Api, size: int) -> bytes:
    """Return a request without a body that has exactly this size."""
    bare = len(request("GET", MODELS, [*api.usual_fields, ("X-Padding", "")]))
    padding = ("X-Padding", "a" * (size - bare))
    return request("GET", MODELS, [*api.usual_fields, padding])


def test_a_head_may_have_16384_bytes(api: Api) -> None:
    assert_success(api.send(head_of(api, LARGEST_HEAD)))
    answer = api.send(head_of(api, LARGEST_HEAD + 1))
    assert "16384" in assert_refused(answer, "headers_too_large")


def test_a_head_may_have_100_fields(api: Api) -> None:
    more = [(f"X-{number}", "a") for number in range(98)]
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, *more]))
    answer = api.ask("GET", MODELS, [*api.usual_fields, *more, ("X", "a")])
    assert "100" in assert_refused(answer, "headers_too_large")


def test_a_target_larger_than_a_head_is_too_long(api: Api) -> None:
    # RFC 9112 §3: a server should read request lines of at least 8000 octets.
    assert_refused(api.ask("GET", "/" + "a" * 8000), "not_found")
    answer = api.ask("GET", "/" + "a" * 17_000)
    assert_refused_and_closed(answer, "target_too_long")


def test_a_connection_serves_one_request_after_the_other(api: Api) -> None:
    with api.endpoint.connect() as connection:
        for text in ("one", "два", "three", "три" * 500, "x"):
            connection.send(api.chat_bytes(draft(text)))
            assert_echo(connection.read_answer(), text)
            connection.send(request("GET", MODELS, api.usual_fields))
            assert_success(connection.read_answer())


def test_connection_close_is_honoured(api: Api) -> None:
    raw = request("GET", MODELS, [*api.usual_fields, ("Connection", "x, Close")])
    answer = api.send(raw + raw)
    assert_success(answer)
    assert answer.header("Connection") == "close"


def test_expect_100_continue_is_answered_once_or_with_a_refusal(api: Api) -> None:
    body, expect = compact(draft("x")), ("Expect", "100-continue")
    with api.endpoint.connect() as connection:
        connection.send(api.chat_bytes(body, extra=[expect]).removesuffix(body))
        interim = connection.read_answer()
        assert (interim.status, interim.reason) == (100, "Continue")
        connection.send(body)
        assert_echo(connection.read_answer(), "x")
    fields = [*api.usual_fields, ("Content-Length", "32769"), expect]
    assert_refused(api.ask("POST", CHAT, fields), "request_too_large")
