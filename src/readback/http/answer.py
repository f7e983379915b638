"""What depends on the request: the Connection header, and no body for HEAD."""

from typing import Any

from readback.http.head import HEAD_END
from readback.http.meaning import Meaning

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def complete(
    answer: bytes, meaning: Meaning[Any] | None, *, closing: bool, bodiless: bool
) -> bytes:
    """Return the bytes to send for a handler's answer to this request."""
    if closing:
        # RFC 9112 §9.6: a server announces that it will close the connection.
        answer = answer.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    elif meaning is not None and meaning.is_http_10:
        # RFC 9112 §9.3: HTTP/1.0 clients expect this if the connection stays open.
        answer = answer.replace(b"\r\n", b"\r\nConnection: keep-alive\r\n", 1)
    if bodiless:
        # RFC 9110 §9.3.2: the same headers as for GET, and no body.
        return answer[: answer.index(HEAD_END) + len(HEAD_END)]
    return answer
