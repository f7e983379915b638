"""Changes that proxies, gateways and filters make to messages in transit."""

import gzip
import json
import re
import time
from dataclasses import replace

from tests.probe.provider import error
from tests.probe.relay import Request, RequestFilter, Response, ResponseFilter

PAGE = b"<!doctype html><title>%b</title><p>Hello."

# Changes to a request.


def remove_authorization(request: Request) -> Request:
    kept = {k: v for k, v in request.headers.items() if k.lower() != "authorization"}
    return replace(request, headers=kept)


def add_parameter(request: Request) -> Request:
    separator = "&" if "?" in request.target else "?"
    return replace(request, target=f"{request.target}{separator}utm_source=proxy")


def remove_parameters(request: Request) -> Request:
    return replace(request, target=request.target.partition("?")[0])


def rewrite_path(request: Request) -> Request:
    return replace(request, target=request.target.replace("/v1/", "/v1/api/"))


def compress_request(request: Request) -> Request:
    if not request.body:
        return request
    headers = request.headers | {"Content-Encoding": "gzip"}
    return replace(request, body=gzip.compress(request.body), headers=headers)


def shorten_content(limit: int) -> RequestFilter:
    def change(request: Request) -> Request:
        if not request.body:
            return request
        content = json.loads(request.body)
        message = content["messages"][0]
        message["content"] = message["content"].encode()[:limit].decode(errors="ignore")
        return replace(request, body=json.dumps(content).encode())

    return change


def add_field(request: Request) -> Request:
    if not request.body:
        return request
    content = json.loads(request.body) | {"user": "gateway"}
    return replace(request, body=json.dumps(content).encode())


# Changes to a response.


def compress_response(response: Response) -> Response:
    return response.with_body(gzip.compress(response.body), Content_Encoding="gzip")


def mark_as_compressed(response: Response) -> Response:
    return response.with_body(response.body, Content_Encoding="gzip")


def recode_as_cp1251(response: Response) -> Response:
    body = response.body.decode().encode("cp1251", "replace")
    return response.with_body(
        body, Content_Type="application/json; charset=windows-1251"
    )


def refuse(status: int, code: str, **headers: str) -> ResponseFilter:
    """Replace each accepted request's response with a refusal by the service."""

    def change(response: Response) -> Response:
        if response.status != 200:
            return response
        body = json.dumps({"error": {"code": code}}).encode()
        refusal = response.with_body(body, X_Error_Detail="Not now.", **headers)
        return replace(refusal, status=status, reason="Not Now")

    return change


def refuse_large_content(response: Response) -> Response:
    if b"content_too_large" not in response.body:
        return response
    return Response(413, "Too Large", {"Content-Type": "text/html"}, PAGE % b"413")


def require_login(response: Response) -> Response:
    """Require a login for everything except unknown paths."""
    if response.status == 404:
        return response
    return Response(401, "No", {"WWW-Authenticate": "Basic"}, b"login")


def delay_completions(response: Response) -> Response:
    if b"chat.completion" in response.body:
        time.sleep(0.3)
    return response


def close_connection(response: Response) -> Response:
    return response.with_body(response.body, Connection="close")


def repeat_id(response: Response) -> Response:
    one = b"00000000-0000-4000-8000-000000000000"
    return response.with_body(re.sub(rb'(?<="id":")[0-9a-f-]{36}', one, response.body))


def add_model(response: Response) -> Response:
    return response.with_body(
        response.body.replace(b'"data":[', b'"data":[{"id":"other"},')
    )


def cut_in_a_character(response: Response) -> Response:
    """Cut a completion off after the first byte of a character outside ASCII."""
    place = next((at for at, byte in enumerate(response.body) if byte >= 0xC0), None)
    return response if place is None else response.with_body(response.body[: place + 1])


def count_characters(response: Response) -> Response:
    length = str(len(response.body.decode()))
    return response.with_body(response.body, Content_Length=length)


def count_too_much(response: Response) -> Response:
    length = str(len(response.body) + 7)
    return response.with_body(response.body, Content_Length=length, Connection="close")


def change_finish_reason(response: Response) -> Response:
    return response.with_body(response.body.replace(b'"stop"', b'"length"'))


def fail_with_200(response: Response) -> Response:
    if response.status != 200:
        return response
    return response.with_body(error(message="The model is overloaded"))


def replace_quotes(text: str) -> str:
    return text.replace(' "', " “").replace('" ', "” ").replace("--", "—")


def remove_controls(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or c.isprintable() or c.isspace())


def without_astral(text: str) -> str:
    return "".join(c if ord(c) < 0x10000 else "?" for c in text)


def mistype(key: str) -> str:
    return key[:20] + ("x" if key[20] != "x" else "y") + key[21:]
