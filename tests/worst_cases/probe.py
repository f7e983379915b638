"""The input from a server, a proxy or a person that makes the probe work hardest.

Each case runs the probe's code in this thread with an input of about n bytes.
`test_work.py` counts the work.
"""

import gzip
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from readback.probe.common.catalogue import from_error
from readback.probe.common.formatting import Redactor, page_title, redacted, sanitize
from readback.probe.common.results import ProbeError
from readback.probe.connection import certificates
from readback.probe.entered import address, key
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.service import answers, endpoint, instead, readback
from readback.probe.transport import handshake, opening
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.exchanges import ProbeResponse, RequestBudget
from tests.support.peers import StoredPeer
from tests.worst_cases.counting import WorstCase

# Larger inputs can reach the probe, but non-linear growth already shows at this size.
SMALL = 2048
# For code that does little per byte: only this size shows repeated copying.
LARGE = 65_536
LONGEST_HEAD = 16_000

Shape = Callable[[int], bytes]
"""Returns an input of about this many bytes."""


class OneByteAtATime(StoredPeer):
    def recv(self, size: int) -> bytes:
        return self.read(1)


class _StoredClient(ProbeClient):
    answer = b""

    def _connect(self, *_: object) -> socket.socket:
        return StoredPeer(self.answer)  # type: ignore[return-value]


_ROUTE = Route(BaseUrl("http", "host.example", 80, "/v1"))
_NEVER = 1e12
_PROXY = Proxy("http", "proxy.example", 3128, "http_proxy")
_REDACTOR = Redactor({"sk-other-0123456789abcdef": "[key]"})


def received(answer: bytes) -> ProbeResponse:
    client = _StoredClient(_ROUTE, None, 60.0, RequestBudget(), set(), {})
    client.answer = answer
    return client.request("/v1/models")


def judge(answer: bytes) -> None:
    """Do everything that a run may do with one answer."""
    try:
        response = received(answer)
    except ProbeError as error:
        show(error)
        return
    for is_recognized in (True, False):
        show(instead.unexpected_response(response, is_recognized=is_recognized))
    for look in (answers.is_from_api, answers.model_ids, answers.parse_refusal):
        look(response)
    for explain in (answers.error_in_success, answers.changed, answers.spoiled):
        if error := explain(response):
            show(error)
    with suppress(ProbeError):
        readback._completion(response)
    endpoint._near_names("gpt-4o", answers.model_ids(response) or [])
    response.date, response.retry_after  # noqa: B018


def show(error: ProbeError) -> None:
    redacted(from_error(error), _REDACTOR)


def http(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    length = b"Content-Length: %d" % len(body)
    lines = (b"HTTP/1.1 " + status, length, *headers, b"", body)
    return b"\r\n".join(lines)


def repeated(unit: str | bytes, n: int) -> Any:
    return unit * (n // len(unit))


def of(unit: str | bytes) -> Callable[[int], Any]:
    return lambda n: repeated(unit, n)


def page_of(unit: bytes) -> Shape:
    def make(n: int) -> bytes:
        body = b"<html><title>%b</title>" % repeated(unit, n)
        return http(body, b"Content-Type: text/html", status=b"403 Forbidden")

    return make


def json_of(unit: bytes) -> Shape:
    def make(n: int) -> bytes:
        body = b'{"error": {"message": "%b"}}' % repeated(unit, n)
        return http(body, b"Content-Type: application/json", status=b"400 Bad Request")

    return make


def many_models(n: int) -> bytes:
    rows = b",".join(b'{"id": "gpt-4-%08d"}' % number for number in range(n // 24))
    return http(b'{"object": "list", "data": [%b]}' % rows)


def header_of(status: bytes, name: bytes) -> Callable[[bytes], Shape]:
    return lambda unit: (
        lambda n: http(b"{}", name + b": " + repeated(unit, n), status=status)
    )


def compressed_page(n: int) -> bytes:
    body = gzip.compress(b"<html><title>%b</title>" % repeated(b"://", n))
    kind = b"Content-Type: text/html"
    return http(body, b"Content-Encoding: gzip", kind, status=b"403 Forbidden")


def chunks(n: int) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"1\r\n{\r\n" * (n // 6) + b"0\r\n\r\n"


def stream(parts: list[bytes]) -> None:
    events = endpoint.EventStream()
    for part in parts:
        events.feed(part, 0.0)


def tunnel(answer: bytes) -> None:
    peer: Any = OneByteAtATime(answer)
    with suppress(ProbeError, HTTPException):
        opening._open_tunnel(peer, _PROXY, _ROUTE.target, _NEVER)


def refused_tunnel(page: bytes) -> None:
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\n\r\n"
    peer: Any = StoredPeer(head + page)
    try:
        opening._open_tunnel(peer, _PROXY, _ROUTE.target, _NEVER)
    except ProbeError as error:
        show(error.with_facts(_PROXY.facts(_ROUTE.target)))


def der(tag: int, content: bytes) -> bytes:
    size = len(content).to_bytes(4, "big")
    return bytes([tag, 0x84]) + size + content


def certificate_with(unit: bytes) -> Shape:
    """Return a factory of certificates whose alternative names repeat a unit."""

    def made(n: int) -> bytes:
        names = der(0x04, der(0x30, repeated(unit, n)))
        extension = der(0x30, der(0x06, bytes.fromhex("551d11")) + names)
        dates = der(0x30, der(0x17, b"200101000000Z") + der(0x17, b"400101000000Z"))
        name = der(0x30, b"")
        fields = der(2, b"1"), der(0x30, b""), name, dates, name
        parts = b"".join(fields) + der(0xA3, der(0x30, extension))
        return der(0x30, der(0x30, parts))

    return made


def shown(check: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a function that shows the error of a check, if there is one."""

    def run(value: Any) -> None:
        try:
            check(value)
        except ProbeError as error:
            show(error)

    return run


def _rows(
    name: str,
    run: Callable[[Any], object],
    make: Callable[[Any], Callable[[int], Any]],
    *units: Any,
    limit: int = SMALL,
) -> Iterator[WorstCase]:
    """Yield a case for each unit; `make` returns a factory of inputs from it."""
    for unit in units:
        yield WorstCase(f"{name}: {unit!r}", run, make(unit), limit)


def _answers() -> Iterator[WorstCase]:
    yield from _rows(
        "a page whose title repeats",
        judge,
        page_of,
        *(b"://", b"://a@", b"://a#", b"?a=b", b"a=", b"bearer ", b"bearer:", b"eyJ"),
        *(b"eyJaaaaaaaa.", b"sk-", b"sk-a ", b"***", b"-", b" ", b"\xd0\x96", b"&amp;"),
        *(b"<title", b"<title>", b"</title>", b"<h1", b"<h1>", b"<Message>", b"<"),
        *(b"type=", b"you ", b"are a ", b"error code: ", b'cf-error-code">', b"host"),
        *(b"name not ", b"wi-fi", b"log", b"network "),
    )
    messages = (b"://", b"a.", rb"\"", rb"\u0041", rb"\\")
    yield from _rows("an error message that repeats", judge, json_of, *messages)
    shapes: dict[str, Shape] = {
        "nested lists": lambda n: http(b"[" * n),
        "nested objects": lambda n: http(repeated(b'{"a":', n)),
        "a long number": lambda n: http(b"9" * n),
        "a string without an end": lambda n: http(b'{"a":"' + b"a" * n),
        "spaces around an object": lambda n: http(b" " * n + b"{}x"),
        "many models": many_models,
        "a model with a long name": lambda n: http(
            b'{"data": [{"id": "%b"}]}' % repeated(b"gpt-4o", n)
        ),
        "a completion with many fields": lambda n: http(
            b'{"choices": [%b]}' % b",".join([b'{"index": 0, "a": 1}'] * (n // 21))
        ),
        "an object with many names": lambda n: http(
            b'{"error": {%b}}' % b",".join(b'"%08d": 1' % at for at in range(n // 14))
        ),
        "chunks of one byte": chunks,
        "a compressed page": compressed_page,
    }
    for name, shape in shapes.items():
        yield WorstCase(name, judge, shape, SMALL)
    yield WorstCase("a title", page_title, lambda n: "<title" * (n // 6), SMALL)


# A status, a header, and what its value repeats.
_HEADERS = (
    (b"200 OK", b"Content-Type", (b";", b'a;"', b"; charset=")),
    (b"200 OK", b"Content-Encoding", (b"gzip,",)),
    (b"200 OK", b"Date", (b"Mon, ", b"1")),
    (b"200 OK", b"Set-Cookie", (b"a=",)),
    (b"200 OK", b"Age", (b"0",)),
    (b"302 Found", b"Location", (b"http://", b"/../a", b"?zone=log-")),
    (b"401 Unauthorized", b"WWW-Authenticate", (b"Bearer ",)),
    (b"404 Not Found", b"Link", (b"<", b"<>;", b"<>;rel=")),
    (b"404 Not Found", b"X-Error-Detail", (b"://",)),
    (b"429 Too Many Requests", b"Retry-After", (b"9",)),
    (b"503 Service Unavailable", b"Server", (b"squi",)),
    (b"503 Service Unavailable", b"Via", (b"kon",)),
)


def _headers() -> Iterator[WorstCase]:
    for status, name, units in _HEADERS:
        make = header_of(status, name)
        yield from _rows(f"the header {name.decode()} repeats", judge, make, *units)


def _connections() -> Iterator[WorstCase]:
    yield WorstCase("a stream without lines", stream, lambda n: [b"a"] * n, LARGE)
    yield WorstCase(
        "a stream of lines", stream, lambda n: [b"data:\n"] * (n // 6), SMALL
    )
    yield WorstCase(
        "a stream in one part", stream, lambda n: [b"data:{}\n" * (n // 8)], SMALL
    )
    head = b"HTTP/1.1 200 "
    yield WorstCase("a tunnel", tunnel, lambda n: head + b"a" * n, LONGEST_HEAD)
    page = b"HTTP/1.1 503 Busy\r\n\r\n"
    yield WorstCase("no tunnel", tunnel, lambda n: page + b"<" * n, LARGE)
    units = (b"host", b"name ", b"domain a ", b"unable to ", b"<title")
    refused = "the page of a proxy repeats"
    yield from _rows(refused, refused_tunnel, of, *units, limit=LARGE)
    names = (b"\x82\x00", b"\x82\x01a", b"\x82\x08host.abc", b"\x87\x04abcd")
    yield from _rows(
        "a certificate", certificates.read, certificate_with, *names, limit=LARGE
    )
    yield WorstCase(
        "a chain of empty certificates",
        handshake._read_chain,
        lambda n: b"\x0b" + n.to_bytes(3, "big") + n.to_bytes(3, "big") + bytes(n),
        LARGE,
    )


def _typed() -> Iterator[WorstCase]:
    yield from _rows(
        "an address",
        shown(address.check),
        of,
        *("a", " ", "/", "//", ":", "@", "?", "&a=", "http://", "https://a "),
        *("[", "\\", "%20", "a.b/", "ж"),
    )
    yield from _rows(
        "a key",
        shown(lambda text: key.check(Secret(text))),
        of,
        *("a", " ", "-", "=", "\n", '"', "*", "sk-echo-", "s k", "Bearer "),
        *("export ", "\u200b", "ж"),
    )
    yield from _rows("a text", sanitize, of, *("http://", " ", "\u200b"))


CASES = [*_answers(), *_headers(), *_connections(), *_typed()]
