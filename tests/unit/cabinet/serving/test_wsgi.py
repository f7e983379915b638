"""A request's environ, and the application's answers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.work import head_of

from readback.cabinet.serving import wsgi
from readback.cabinet.serving.security_headers import headers_of
from readback.cabinet.serving.wsgi import Application, Pages, environ_of, server_environ
from readback.config import Config
from readback.http.head import Head, parse
from readback.http.meaning import Meaning

SECRET = "said by a visitor"
GET = head_of(b"GET", b"/", [])
POST = head_of(b"POST", b"/", [])


class Origin:
    """A connection that keeps its answer."""

    address = "192.0.2.1"
    answered: bytes | None = None

    def resume(self, outcome: Any) -> None:
        assert self.answered is None
        self.answered = outcome


def environ(lines: bytes, target: bytes = b"/", body: bytes = b"") -> dict[str, Any]:
    head = parse(b"GET %b HTTP/1.1\r\nHost: x\r\n%b\r\n" % (target, lines), 100)
    return environ_of(head, body, "192.0.2.1")


def test_the_target_is_decoded_once() -> None:
    found = environ(b"", b"/a%20%D1%8F%2f?q=%20%3F?")
    assert found["PATH_INFO"].encode("latin-1").decode() == "/a я/"
    assert found["QUERY_STRING"] == "q=%20%3F?"


def test_fields_become_variables() -> None:
    found = environ(
        b"Content-Type: text/plain\r\nX-Forwarded-For: a\r\nX-FORWARDED-FOR: b\r\n"
        b"Cookie: a=1\r\ncookie: b=2\r\nX-Name: \xe4\r\n"
        # Names with an underscore do not become variables; nor does the framing.
        b"X_Forwarded_For: c\r\nHTTP_HOST: y\r\n_: z\r\nTransfer-Encoding: chunked\r\n",
        # The authority of an absolute target replaces the host.
        target=b"http://elsewhere:1/a?b",
        body=b"body",
    )
    assert {name: found[name] for name in found if name.startswith("HTTP_")} == {
        "HTTP_HOST": "elsewhere:1",
        "HTTP_X_FORWARDED_FOR": "a,b",
        "HTTP_COOKIE": "a=1; b=2",
        "HTTP_X_NAME": "ä",
    }
    assert (found["CONTENT_TYPE"], found["REMOTE_ADDR"]) == ("text/plain", "192.0.2.1")
    assert (found["CONTENT_LENGTH"], found["wsgi.input"].read()) == ("4", b"body")
    assert found["PATH_INFO"] == "/a"


@pytest.mark.parametrize("address", [("127.0.0.1", 80), ("::1", 80, 0, 0), "/socket"])
def test_every_kind_of_socket_has_a_server_name(address: Any) -> None:
    assert server_environ(address)["SERVER_NAME"]
    assert server_environ(address)["SERVER_PORT"].isdigit()


def answers(
    application: Application, *requests: tuple[Head, bytes]
) -> list[bytes | None]:
    """Return the answers to requests that arrive together."""

    async def run() -> list[bytes | None]:
        pages = Pages(application, Config(), {})
        origins = [Origin() for _ in requests]
        for (head, body), origin in zip(requests, origins, strict=True):
            request = Meaning(head, head), b"", b"", len(body)
            origin.answered = pages.begin(request, origin).answer(body)
        while pages._tasks:
            await asyncio.gather(*pages._tasks)
        pages.stop()
        assert pages._bodies_bytes == 0
        return [origin.answered for origin in origins]

    return asyncio.run(run())


class Parts(list[bytes]):
    """An answer in parts, which records whether it was closed."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def application_of(
    status: str, headers: list[tuple[str, str]], *parts: bytes
) -> Application:
    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        start_response(status, headers)
        return Parts(parts)

    return application


@pytest.mark.parametrize(
    ("status", "headers", "ending"),
    [
        ("200 OK", [("X", "ä")], b"X: \xe4\r\nContent-Length: 2\r\n\r\nab"),
        ("200 OK", [("content-length", "2")], b"content-length: 2\r\n\r\nab"),
        ("204 No Content", [], b"\r\n"),
        ("304 Not Modified", [], b"\r\n"),
    ],
)
def test_an_answer_has_a_date_and_unless_it_has_no_body_one_length(
    status: str, headers: list[tuple[str, str]], ending: bytes
) -> None:
    [answer] = answers(application_of(status, headers, b"a", b"b"), (GET, b""))
    assert answer is not None
    status_line, date, rest = answer.split(b"\r\n", 2)
    assert status_line == f"HTTP/1.1 {status}".encode()
    assert date.startswith(b"Date: ")
    assert rest == ending


def test_a_streamed_answer_is_collected_and_closed() -> None:
    parts = Parts([b"first, ", b"second"])

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        start_response("200 OK", [])
        return parts

    [answer] = answers(application, (GET, b""))
    assert answer is not None and answer.endswith(b"\r\n\r\nfirst, second")
    assert parts.is_closed


def fail(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    raise ZeroDivisionError(SECRET)


@pytest.mark.parametrize(
    "application",
    [
        fail,
        lambda environ, start_response: Parts([b"no status"]),
        application_of("200 OK", [("X", "a\r\nSet-Cookie: b")]),
        application_of("200 OK", [("X", "a\nb")]),
        application_of("200 OK", [("X", "\u20ac")]),
    ],
    ids=["an exception", "no status", "a line break", "a line feed", "not Latin-1"],
)
def test_an_application_that_fails_is_answered_with_500(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    [answer] = answers(application, (GET, b""))
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    for name, value in headers_of(Config()).items():
        assert f"\r\n{name}: {value}\r\n".encode() in answer
    assert "A request failed: " in caplog.text
    assert SECRET not in caplog.text


def test_bodies_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi, "MAX_BODIES_BYTES", 100)
    requests = [(POST, bytes(size)) for size in (60, 40, 1, 0)]
    found = answers(application_of("200 OK", []), *requests)
    statuses = [answer and answer[9:12] for answer in found]
    assert statuses == [b"200", b"200", b"503", b"200"]
