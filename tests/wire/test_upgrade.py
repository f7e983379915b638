"""An upgrade may be ignored (RFC 9110 §7.8), but the body must be read.

The HTTP client of the JDK offers HTTP/2 in every request over plain HTTP; so do others.
"""

import pytest

from tests.support.api import Api, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    pieces_of,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.server import Server
from tests.support.tables import each
from tests.support.wire import Endpoint

UPGRADES = {
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A",
    "WebSocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "high bytes": b"Connection: upgrade\r\nUpgrade: websocket\r\n"
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


OTHER_CODINGS = {
    "gzip": (b"Transfer-Encoding: gzip", 400),
    "identity": (b"Transfer-Encoding: identity", 400),
    "nothing": (b"Transfer-Encoding:", 400),
    "gzip, chunked": (b"Transfer-Encoding: gzip, chunked", 501),
    "both framings": (b"Content-Length: 2\r\nTransfer-Encoding: chunked", 400),
    "a bad length": (b"Content-Length: x", 400),
}


@each("lines", UPGRADES)
@each("coding, status", OTHER_CODINGS)
def test_a_refused_framing_is_refused_with_an_upgrade_too(
    echo: Endpoint, lines: bytes, coding: bytes, status: int
) -> None:
    # llhttp does not look at the framing of a request that it takes for an upgrade.
    for raw in (post(coding, lines), post(lines, coding)):
        plain, *_ = ask(echo, post(coding) + GOOD)
        answers = ask(echo, raw + GOOD)
        assert statuses(answers) == [status]
        assert answers[0].body == plain.body
        assert answers[0].header("X-Error-Detail") == plain.header("X-Error-Detail")


def test_no_bad_request_writes_a_log_line(server: Server, api: Api) -> None:
    # CVE-2025-47287: each of them wrote a warning.
    before = (server.folder / "stderr").stat().st_size
    for lines in UPGRADES.values():
        for coding, _ in OTHER_CODINGS.values():
            for method in (b"POST", b"CONNECT", b"BREW"):
                ask(api.endpoint, post(coding, lines).replace(b"POST", method, 1))
    for _ in range(100):
        ask(api.endpoint, b"garbage\x1b[31m\r\n\r\n")
        ask(api.endpoint, post_body(b"--x\r\n", b"Content-Type: x/y"))
        api.chat(draft("x", stream=True))
        api.ask("GET", "/\x5b31m")
    assert (server.folder / "stderr").stat().st_size == before
