"""A request's environ, and the application's answers."""

import asyncio
from collections.abc import Callable, Iterator
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

    def __init__(self) -> None:
        self.answered: bytes | None = None

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


def test_the_authority_of_an_absolute_target_replaces_the_host() -> None:
    found = environ(b"", b"http://elsewhere:1/a?b")
    assert (found["HTTP_HOST"], found["PATH_INFO"]) == ("elsewhere:1", "/a")


def test_fields_become_variables() -> None:
    found = environ(
        b"Content-Type: text/plain\r\nX-Forwarded-For: a\r\nX-FORWARDED-FOR: b\r\n"
        b"Cookie: a=1\r\ncookie: b=2\r\nX-Name: \xe4\r\n",
        body=b"body",
    )
    assert found["CONTENT_TYPE"] == "text/plain"
    assert found["HTTP_X_FORWARDED_FOR"] == "a,b"
    assert found["HTTP_COOKIE"] == "a=1; b=2"
    assert found["HTTP_X_NAME"] == "ä"
    assert (found["CONTENT_LENGTH"], found["wsgi.input"].read()) == ("4", b"body")
    assert found["REMOTE_ADDR"] == "192.0.2.1"


def test_a_name_with_an_underscore_is_no_variable() -> None:
    found = environ(b"X_Forwarded_For: 192.0.2.7\r\nHTTP_HOST: y\r\n_: z\r\n")
    assert {name for name in found if name.startswith("HTTP_")} == {"HTTP_HOST"}
    assert found["HTTP_HOST"] == "x"


def test_the_framing_of_a_request_is_not_passed_on() -> None:
    found = environ(b"Transfer-Encoding: chunked\r\n", body=b"whole")
    assert "HTTP_TRANSFER_ENCODING" not in found
    assert found["CONTENT_LENGTH"] == "5"


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
            refusal = pages.begin(request, origin).answer(body)
            if refusal is not None:
                origin.resume(refusal)
        while pages._tasks:
            await asyncio.gather(*pages._tasks)
        pages.stop()
        assert pages._bodies_bytes == 0
        return [origin.answered for origin in origins]

    return asyncio.run(run())


class Parts:
    """The parts of an answer, one by one; records whether it was closed."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts

    def close(self) -> None:
        self.is_closed = True


def application_of(
    status: str, headers: list[tuple[str, str]], *parts: bytes
) -> Application:
    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        start_response(status, headers)
        return Parts(*parts)

    return application


def test_an_answer_has_a_date_and_a_length() -> None:
    [answer] = answers(application_of("200 OK", [("X", "ä")], b"a", b"b"), (GET, b""))
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert answer.endswith(b"\r\nX: \xe4\r\nContent-Length: 2\r\n\r\nab")


def test_the_application_may_set_the_length_itself() -> None:
    headers = [("content-length", "2")]
    [answer] = answers(application_of("200 OK", headers, b"ab"), (GET, b""))
    assert answer is not None and answer.lower().count(b"content-length") == 1


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_some_answers_have_no_body(status: str) -> None:
    [answer] = answers(application_of(status, [], b"ignored"), (GET, b""))
    assert answer is not None and answer.endswith(b"\r\n\r\n")
    assert b"Content-Length" not in answer


def test_a_streamed_answer_is_collected_and_closed() -> None:
    parts = Parts(b"first, ", b"second")

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
        lambda environ, start_response: Parts(b"no status"),
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
    assert [answer and answer[9:12] for answer in found] == [b"200"] * 2 + [
        b"503",
        b"200",
    ]
