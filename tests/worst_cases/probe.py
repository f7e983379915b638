"""What a server, a proxy, a person or the environment can send to make the probe work.

Each case has a name, a function that runs code of the probe in this thread, an input
of about n bytes, and the largest n that can reach that code. The test of worst-case
work counts what the function does at n, 2n and 4n; nothing here is timed.
"""

import gzip
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from unittest.mock import patch

from readback.probe.common.catalogue import from_error
from readback.probe.common.formatting import Redactor, page_title, redacted, sanitize
from readback.probe.common.results import ProbeError
from readback.probe.connection import certificates, dns, proxies
from readback.probe.entered import address, key
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.service import (
    answers,
    echo,
    endpoint,
    instead,
)
from readback.probe.transport import handshake, opening
from readback.probe.transport.client import ProbeClient
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.exchanges import ProbeResponse, RequestBudget
from tests.support.peers import StoredPeer
from tests.worst_cases.counting import WorstCase

BODY = 1 << 20
"""The probe reads no more of a body."""
LINE = 65_000
"""`http.client` accepts no longer line."""
TYPED = 50_000
CERTIFICATES = 100_000
"""OpenSSL accepts no longer chain."""

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
    for explain in (instead.error_in_success, instead.changed, instead.spoiled):
        if error := explain(response):
            show(error)
    with suppress(ProbeError):
        echo._completion(response)
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


def list_of(row: bytes) -> Shape:
    def make(n: int) -> bytes:
        rows = b",".join(row % number for number in range(n // len(row)))
        return http(b'{"object": "list", "data": [%b]}' % rows)

    return make


def header_of(name: bytes, unit: bytes, status: bytes = b"200 OK") -> Shape:
    return lambda n: http(b"{}", name + b": " + repeated(unit, n), status=status)


def compressed(make: Shape) -> Shape:
    def made(n: int) -> bytes:
        head, _, body = make(n).partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n")[1:] if b"Length" not in line]
        status = head.partition(b"\r\n")[0].removeprefix(b"HTTP/1.1 ")
        return http(
            gzip.compress(body), b"Content-Encoding: gzip", *kept, status=status
        )

    return made


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


def certificate_with(make: Shape) -> Shape:
    """A certificate whose subject alternative names are these bytes."""

    def made(n: int) -> bytes:
        names = der(0x04, der(0x30, make(n)))
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


def proxy_setting(value: str) -> None:
    proxies.read_setting(value, "https_proxy", "host.example")


def no_proxy(value: str) -> None:
    for entry in proxies._SEPARATORS.split(value):
        proxies._seems_to_mean(entry, _ROUTE.target)


def hosts_file(text: str) -> None:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        with patch.object(dns, "HOSTS_FILE", Path(file.name)):
            dns.is_in_hosts_file("host.example")


_ANSWERS: dict[str, Shape] = {
    f"a page whose title repeats {unit!r}": page_of(unit)
    for unit in (
        *(b"://", b"://a@", b"://a#", b"?a=b", b"a=", b"bearer ", b"bearer:", b"eyJ"),
        *(b"eyJaaaaaaaa.", b"sk-", b"sk-a ", b"***", b"-", b" ", b"\xd0\x96", b"&amp;"),
    )
}
_ANSWERS |= {
    f"an error message that repeats {unit!r}": json_of(unit)
    for unit in (b"://", b"a.", rb"\"", rb"\u0041", rb"\\")
}
_ANSWERS |= {
    f"a page that repeats {unit!r}": page_of(unit)
    for unit in (
        *(b"<title", b"<title>", b"</title>", b"<h1", b"<h1>", b"<Message>", b"<"),
        *(b"type=", b"you ", b"are a ", b"error code: ", b'cf-error-code">', b"host"),
        *(b"name not ", b"wi-fi", b"log", b"network "),
    )
}
_ANSWERS |= {
    "nested lists": lambda n: http(b"[" * n),
    "nested objects": lambda n: http(repeated(b'{"a":', n)),
    "a long number": lambda n: http(b"9" * n),
    "a string without an end": lambda n: http(b'{"a":"' + b"a" * n),
    "spaces around an object": lambda n: http(b" " * n + b"{}x"),
    "many models": list_of(b'{"id": "gpt-4-%08d"}'),
    "one model with a long name": lambda n: http(
        b'{"data": [{"id": "%b"}]}' % repeated(b"gpt-4o", n)
    ),
    "a completion with many fields": lambda n: http(
        b'{"choices": [%b]}' % b",".join([b'{"index": 0, "a": 1}'] * (n // 21))
    ),
    "an object with many names": lambda n: http(
        b'{"error": {%b}}'
        % b",".join(b'"%08d": 1' % number for number in range(n // 14))
    ),
    "chunks of one byte": chunks,
    "a compressed page": compressed(page_of(b"://")),
    "a compressed error": compressed(json_of(b"://")),
}
_HEADERS = tuple(
    WorstCase(
        f"the header {name.decode()} repeats {unit!r}",
        judge,
        header_of(name, unit, status),
        LINE,
    )
    for name, unit, status in (
        (b"Content-Type", b";", b"200 OK"),
        (b"Content-Type", b'a;"', b"200 OK"),
        (b"Content-Type", b"; charset=", b"200 OK"),
        (b"Link", b"<", b"404 Not Found"),
        (b"Link", b"<>;", b"404 Not Found"),
        (b"Link", b"<>;rel=", b"404 Not Found"),
        (b"Date", b"Mon, ", b"200 OK"),
        (b"Date", b"1", b"200 OK"),
        (b"Retry-After", b"9", b"429 Too Many Requests"),
        (b"Set-Cookie", b"a=", b"200 OK"),
        (b"Server", b"squi", b"503 Service Unavailable"),
        (b"Via", b"kon", b"503 Service Unavailable"),
        (b"WWW-Authenticate", b"Bearer ", b"401 Unauthorized"),
        (b"Content-Encoding", b"gzip,", b"200 OK"),
        (b"Location", b"http://", b"302 Found"),
        (b"Location", b"/../a", b"302 Found"),
        (b"Location", b"?zone=log-", b"302 Found"),
        (b"X-Error-Detail", b"://", b"404 Not Found"),
        (b"Age", b"0", b"200 OK"),
    )
)
_CONNECTIONS = (
    WorstCase("a stream without lines", stream, lambda n: [b"a"] * n, BODY),
    WorstCase(
        "the head of a tunnel", tunnel, lambda n: b"HTTP/1.1 200 " + b"a" * n, 16_000
    ),
    WorstCase(
        "a page instead of a tunnel",
        tunnel,
        lambda n: b"HTTP/1.1 503 Busy\r\n\r\n" + b"<" * n,
        65_000,
    ),
    *(
        WorstCase(
            f"the page of a proxy repeats {unit!r}",
            refused_tunnel,
            of(unit),
            65_000,
        )
        for unit in (b"host", b"name ", b"domain a ", b"unable to ", b"<title")
    ),
    *(
        WorstCase(
            f"a certificate with names of {len(unit)} bytes",
            certificates.read,
            certificate_with(of(unit)),
            CERTIFICATES,
        )
        for unit in (b"\x82\x00", b"\x82\x01a", b"\x82\x08host.abc", b"\x87\x04abcd")
    ),
    WorstCase(
        "a chain of empty certificates",
        handshake._read_chain,
        lambda n: b"\x0b" + n.to_bytes(3, "big") + n.to_bytes(3, "big") + bytes(n),
        CERTIFICATES,
    ),
)
_TYPED = tuple(
    WorstCase(
        f"{what} that repeats {unit!r}",
        function,
        of(unit),
        TYPED,
    )
    for what, function, units in (
        (
            "an address",
            shown(address.check),
            (
                *("a", " ", "/", "//", ":", "@", "?", "&a=", "http://", "https://a "),
                *("[", "\\", "%20", "a.b/", "ж"),
            ),
        ),
        (
            "a key",
            shown(lambda text: key.check(Secret(text))),
            (
                *("a", " ", "-", "=", "\n", '"', "*", "sk-echo-", "s k", "Bearer "),
                *("export ", "\u200b", "ж"),
            ),
        ),
        ("a proxy", shown(proxy_setting), ("a", ":", "@", "//", "%20")),
        ("a list of hosts without a proxy", no_proxy, ("a", ",", ".", " ", "*")),
        ("a hosts file", hosts_file, ("a ", "\n", " ")),
        ("a text", sanitize, ("http://", " ", "\u200b")),
    )
    for unit in units
)
_ALL: list[WorstCase] = [
    *(WorstCase(name, judge, make, BODY) for name, make in _ANSWERS.items()),
    *(_HEADERS + _TYPED),
    WorstCase(
        "a stream of short lines", stream, lambda n: [b"data:\n"] * (n // 6), BODY
    ),
    WorstCase(
        "a stream in one part", stream, lambda n: [b"data:{}\n" * (n // 8)], BODY
    ),
    WorstCase("the title of a page", page_title, lambda n: "<title" * (n // 6), BODY),
]
# Counting takes long, and growth that is not linear shows at these sizes. Larger ones
# are only needed where so little is done with each byte that repeated copies would not
# show.
CASES = [
    *(case._replace(limit=min(case.limit, 2048)) for case in _ALL),
    *(case._replace(limit=min(case.limit, 65_536)) for case in _CONNECTIONS),
]
