"""Bytes that are not an HTTP/1.x request, or whose head is too large.

Each of these is refused in the usual form and ends the connection: if the end of a
request is in doubt, nothing after it can be trusted (RFC 9112 §11.2).
"""

import pytest

from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_refused_and_closed,
    assert_success,
    compact,
    draft,
)
from tests.support.tables import each, words
from tests.support.wire import Answer, request

# HOST and KEY are replaced by the valid values.
REQUEST_LINES = {
    "no version": b"GET /v1/models",
    "HTTP/0.9": b"GET /v1/models HTTP/0.9",
    "HTTP/1.10": b"GET /v1/models HTTP/1.10",
    "HTTP/2.0": b"GET /v1/models HTTP/2.0",
    "HTTP/3.0": b"GET /v1/models HTTP/3.0",
    "HTTP/1": b"GET /v1/models HTTP/1",
    "HTTP/11": b"GET /v1/models HTTP/11",
    "a version in small letters": b"GET /v1/models http/1.1",
    "another protocol": b"GET /v1/models RTSP/1.0",
    "a space in the version": b"GET /v1/models HTTP /1.1",
    "something after the version": b"GET /v1/models HTTP/1.1 x",
    "two spaces before the version": b"GET /v1/models  HTTP/1.1",
    "two spaces before the target": b"GET  /v1/models HTTP/1.1",
    "tabs for spaces": b"GET\t/v1/models\tHTTP/1.1",
    "a space first": b" GET /v1/models HTTP/1.1",
    "a method alone": b"GET",
    "no target": b"GET HTTP/1.1",
    "no method": b"/v1/models HTTP/1.1",
    "no space at all": b"GET/v1/modelsHTTP/1.1",
    "a method that is not a token": b"G@T /v1/models HTTP/1.1",
    "a method in brackets": b"(GET) /v1/models HTTP/1.1",
    "a method outside ASCII": "ГЕТ /v1/models HTTP/1.1".encode(),
    "a relative target": b"GET v1/models HTTP/1.1",
    "a query for a target": b"GET ?x HTTP/1.1",
    "an asterisk for GET": b"GET * HTTP/1.1",
    "an authority for GET": b"GET example.org:80 HTTP/1.1",
    "a space in the target": b"GET /v1/mo dels HTTP/1.1",
    "a NUL in the target": b"GET /v1/models\x00 HTTP/1.1",
    "a control in the target": b"GET /v1/\x01models HTTP/1.1",
    "UTF-8 in the target": "GET /v1/модели HTTP/1.1".encode(),
    "0xff in the target": b"GET /v1/\xff HTTP/1.1",
    "a bare CR in it": b"GET /v1/models\rX HTTP/1.1",
}

FIELD_LINES = {
    "a folded line": b"X-A: 1\r\n 2",
    "a folded line by a tab": b"X-A: 1\r\n\t2",
    "a space before the colon": b"X-A : 1",
    "a tab before the colon": b"X-A\t: 1",
    "a space in the name": b"X A: 1",
    "no colon": b"X-A",
    "no name": b": 1",
    "a space first": b" X-A: 1",
    "brackets in the name": b"X(A): 1",
    "a quote in the name": b'X"A: 1',
    "a slash in the name": b"X/A: 1",
    "a NUL in the name": b"X\x00A: 1",
    "UTF-8 in the name": "Имя: 1".encode(),
    "a NUL in the value": b"X-A: a\x00b",
    "a NUL in the key": b"Authorization: Bearer \x00",
    "a bare CR in the value": b"X-A: a\rb",
    "a bare CR at the end": b"X-A: a\r\r\nX-B: b",
    "a bare LF in the value": b"X-A: a\nX-B: b",
    "a control in the value": b"X-A: a\x01b",
    "an escape in the value": b"X-A: \x1b[31m",
    "DEL in the value": b"X-A: a\x7fb",
    "a folded upgrade": b"Connection: upgrade\r\nUpgrade: h2c\r\n X-A: 1",
    "a bad line after an upgrade": b"Connection: upgrade\r\nUpgrade: h2c\r\nX A: 1",
    "a second Host": b"Host: HOST",
    "another second Host": b"Host: example.org",
    "a second Host in small letters": b"host: HOST",
}

BAD_HOSTS = words("""
    a@b user:pass@host x/abc /x x/abc?y= x?y x#y a,b a;b=c{} [::1 ::1] [] [x] :80 a:b
    a:80:80 a:-1 a:80x a:999999 <x> "x" a\\b a|b a^b http://x
""")

BAD_LENGTHS = {
    "a list": b"2, 2",
    "a plus sign": b"+2",
    "a minus sign": b"-2",
    "hexadecimal": b"0x2",
    "a letter": b"2a",
    "an underscore": b"1_0",
    "two numbers": b"2 2",
    "a fraction": b"2.0",
    "nothing": b"",
    "a word": b"two",
    "an Arabic digit": "٢".encode(),
    "a superscript": b"\xb2",
}

BAD_CHUNKS = {
    "no hexadecimal": b"x\r\n{}\r\n0\r\n\r\n",
    "a minus sign": b"-2\r\n{}\r\n0\r\n\r\n",
    "a plus sign": b"+2\r\n{}\r\n0\r\n\r\n",
    "0x": b"0x2\r\n{}\r\n0\r\n\r\n",
    "an underscore": b"0_2\r\n{}\r\n0\r\n\r\n",
    "a space first": b" 2\r\n{}\r\n0\r\n\r\n",
    "no size": b"\r\n{}\r\n0\r\n\r\n",
    "an extension without a size": b";a=b\r\n{}\r\n0\r\n\r\n",
    "a bare LF after the size": b"2\n{}\r\n0\r\n\r\n",
    "a bare CR after the size": b"2\r{}\r\n0\r\n\r\n",
    "too much data": b"2\r\n{}x\r\n0\r\n\r\n",
    "no line end after the data": b"2\r\n{}0\r\n\r\n",
    "a bare LF after the data": b"2\r\n{}\n0\r\n\r\n",
    "something else after the data": b"2\r\n{}XX0\r\n\r\n",
    "a bare LF in an extension": b"2;a\nb\r\n{}\r\n0\r\n\r\n",
    "a length among the trailers": b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
    "a coding among the trailers": b"2\r\n{}\r\n0\r\nTransfer-Encoding: x\r\n\r\n",
    "a broken trailer": b"2\r\n{}\r\n0\r\nBad Name: 1\r\n\r\n",
}

NOT_HTTP = {
    "the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a TLS greeting": bytes.fromhex("16030100a5010000a10303")
    + bytes(160)
    + b"\r\n\r\n",
    "a proxy's greeting": b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n\r\n",
    "a proxy's binary greeting": b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12),
    "a mail server's greeting": b"EHLO example.org\r\n\r\n",
    "a shell's greeting": b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
    "JSON alone": b'{"model":"vendor-cabinet-preview-echo"}\r\n\r\n',
    "zeros": bytes(100) + b"\r\n\r\n",
    "high bytes": b"\xff" * 100 + b"\r\n\r\n",
    "an answer": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
}


def filled(api: Api, raw: bytes) -> bytes:
    host = api.endpoint.authority.encode()
    return raw.replace(b"HOST", host).replace(b"KEY", api.key.encode())


def models_request_with(api: Api, *lines: bytes) -> bytes:
    """Return a request for the model list with these lines after the usual ones."""
    head = [b"GET /v1/models HTTP/1.1", b"Host: HOST", b"Authorization: Bearer KEY"]
    return filled(api, b"\r\n".join([*head, *lines, b"", b""]))


@each("line", REQUEST_LINES)
def test_a_bad_request_line_is_refused(api: Api, line: bytes) -> None:
    rest = b"\r\nHost: HOST\r\nAuthorization: Bearer KEY\r\n\r\n"
    assert_refused_and_closed(api.send(filled(api, line + rest)), "malformed_request")


@pytest.mark.parametrize("version", [b"HTTP/1.2", b"HTTP/1.9"])
def test_a_later_minor_version_is_accepted(api: Api, version: bytes) -> None:
    raw = models_request_with(api).replace(b"HTTP/1.1", version)
    assert_success(api.send(raw))


@each("lines", FIELD_LINES)
def test_a_bad_field_line_is_refused(api: Api, lines: bytes) -> None:
    assert_refused_and_closed(
        api.send(models_request_with(api, lines)), "malformed_request"
    )


@each("lines", FIELD_LINES)
def test_a_bad_field_line_is_refused_before_the_path_and_the_key(
    api: Api, lines: bytes
) -> None:
    start = b"GET /v1/nothing HTTP/1.1\r\nHost: HOST\r\n"
    raw = filled(api, start + lines + b"\r\n\r\n")
    assert_refused_and_closed(api.send(raw), "malformed_request")


@each("lines", FIELD_LINES)
def test_a_bad_field_line_is_refused_before_an_unknown_method(
    api: Api, lines: bytes
) -> None:
    raw = models_request_with(api, lines).replace(b"GET", b"FOO", 1)
    assert_refused_and_closed(api.send(raw), "malformed_request")


def test_a_request_without_host_is_refused(api: Api) -> None:
    answer = api.ask("GET", MODELS, [api.bearer])
    assert_refused_and_closed(answer, "malformed_request")


@pytest.mark.parametrize("host", ["", "a b", "a\tb", *BAD_HOSTS])
def test_a_bad_host_is_refused(api: Api, host: str) -> None:
    answer = api.ask("GET", MODELS, [("Host", host), api.bearer])
    assert_refused_and_closed(answer, "malformed_request")


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:80", "api.example.org", "a_b", "[::1]:80", "1.2.3.4"],
)
def test_any_valid_host_is_accepted(api: Api, host: str) -> None:
    assert_success(api.ask("GET", MODELS, [("Host", host), api.bearer]))


def post_raw(api: Api, lines: list[bytes], body: bytes) -> Answer:
    usual = [b"POST /v1/chat/completions HTTP/1.1", b"Host: HOST"]
    usual += [b"Authorization: Bearer KEY", b"Content-Type: application/json"]
    head = filled(api, b"\r\n".join([*usual, *lines, b"", b""]))
    return api.send(head + body)


@each("length", BAD_LENGTHS)
def test_a_bad_length_is_refused(api: Api, length: bytes) -> None:
    answer = post_raw(api, [b"Content-Length: " + length], b"{}")
    assert_refused_and_closed(answer, "malformed_request")


@each(
    "lines",
    {
        "two lengths": [b"Content-Length: 2", b"Content-Length: 3"],
        "two equal lengths": [b"Content-Length: 2", b"Content-Length: 2"],
        "a length, then chunks": [b"Content-Length: 2", b"Transfer-Encoding: chunked"],
        "chunks, then a length": [b"Transfer-Encoding: chunked", b"Content-Length: 2"],
        "chunks and length zero": [b"Transfer-Encoding: chunked", b"Content-Length: 0"],
        "a coding after chunked": [b"Transfer-Encoding: chunked, gzip"],
    },
)
def test_an_ambiguous_end_of_the_body_is_refused(api: Api, lines: list[bytes]) -> None:
    answer = post_raw(api, lines, b"2\r\n{}\r\n0\r\n\r\n")
    assert_refused_and_closed(answer, "malformed_request")


@pytest.mark.parametrize(
    "coding",
    ["gzip", "identity", "xchunked", "chunkedx", "chunked;q=1", "chunked, chunked"]
    + ["gzip, chunked", "deflate, chunked", '"chunked"', "chunked,gzip,chunked"],
)
def test_another_transfer_coding_is_refused(api: Api, coding: str) -> None:
    # RFC 9112 §6.1 and §6.3: 501 for an unknown coding, 400 if the end of the body
    # cannot be determined; which one applies depends on how far the server reads.
    line = f"Transfer-Encoding: {coding}".encode()
    answer = post_raw(api, [line], b"2\r\n{}\r\n0\r\n\r\n")
    unknown = answer.status == 501
    code = "unsupported_transfer_coding" if unknown else "malformed_request"
    assert_refused_and_closed(answer, code)


def test_a_known_coding_before_chunked_is_not_implemented(api: Api) -> None:
    for lines in (
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked"],
    ):
        answer = post_raw(api, lines, b"2\r\n{}\r\n0\r\n\r\n")
        assert_refused_and_closed(answer, "unsupported_transfer_coding")


@pytest.mark.parametrize("coding", ["chunked", "Chunked", "CHUNKED"])
def test_chunked_is_case_insensitive(api: Api, coding: str) -> None:
    body = compact(draft())
    line = f"Transfer-Encoding: {coding}".encode()
    chunks = b"%X;name=value\r\n%b\r\n000\r\nX-Trailer: 1\r\n\r\n" % (len(body), body)
    assert_success(post_raw(api, [line], chunks))


def test_chunks_in_http_1_0_are_refused(api: Api) -> None:
    head = b"POST /v1/chat/completions HTTP/1.0\r\nHost: HOST\r\n"
    fields = b"Authorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = api.send(filled(api, head + fields) + b"2\r\n{}\r\n0\r\n\r\n")
    assert_refused_and_closed(answer, "malformed_request")


@each("chunks", BAD_CHUNKS)
def test_a_bad_chunk_is_refused(api: Api, chunks: bytes) -> None:
    answer = post_raw(api, [b"Transfer-Encoding: chunked"], chunks)
    assert_refused_and_closed(answer, "malformed_request")


@each("raw", NOT_HTTP)
def test_bytes_that_are_not_http_are_refused(api: Api, raw: bytes) -> None:
    assert_refused_and_closed(api.send(raw), "malformed_request")


def test_lines_that_end_in_a_bare_lf_are_refused(api: Api) -> None:
    raw = request("GET", MODELS, api.usual_fields).replace(b"\r\n", b"\n")
    assert_refused_and_closed(api.send(raw), "malformed_request")


def test_nothing_after_a_malformed_request_is_read(api: Api) -> None:
    # `send` fails if there is a second answer.
    good = request("GET", MODELS, api.usual_fields)
    assert_refused_and_closed(api.send(b"garbage\r\n\r\n" + good), "malformed_request")
    both = [
        *api.usual_fields,
        ("Content-Length", "5"),
        ("Transfer-Encoding", "chunked"),
    ]
    smuggled = request("POST", CHAT, both, b"0\r\n\r\n" + good)
    assert_refused_and_closed(api.send(smuggled), "malformed_request")
