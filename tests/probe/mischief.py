"""What proxies, gateways and filters do to the messages that pass through them."""

import gzip
import json
import re
import time
from dataclasses import replace

from tests.probe.relay import Answer, Request, ToAnswer, ToRequest

PAGE = b"<!doctype html><title>%b</title><p>Hello."

# To a request.


def without_authorization(request: Request) -> Request:
    kept = {k: v for k, v in request.headers.items() if k.lower() != "authorization"}
    return replace(request, headers=kept)


def with_parameter(request: Request) -> Request:
    joint = "&" if "?" in request.target else "?"
    return replace(request, target=f"{request.target}{joint}utm_source=proxy")


def without_parameter(request: Request) -> Request:
    return replace(request, target=request.target.partition("?")[0])


def rewritten(request: Request) -> Request:
    return replace(request, target=request.target.replace("/v1/", "/v1/api/"))


def compressed_request(request: Request) -> Request:
    if not request.body:
        return request
    headers = request.headers | {"Content-Encoding": "gzip"}
    return replace(request, body=gzip.compress(request.body), headers=headers)


def shortened(limit: int) -> ToRequest:
    def change(request: Request) -> Request:
        if not request.body:
            return request
        said = json.loads(request.body)
        message = said["messages"][0]
        message["content"] = message["content"].encode()[:limit].decode(errors="ignore")
        return replace(request, body=json.dumps(said).encode())

    return change


def with_field(request: Request) -> Request:
    if not request.body:
        return request
    said = json.loads(request.body) | {"user": "gateway"}
    return replace(request, body=json.dumps(said).encode())


# To an answer.


def compressed(answer: Answer) -> Answer:
    return answer.saying(gzip.compress(answer.body), Content_Encoding="gzip")


def said_to_be_compressed(answer: Answer) -> Answer:
    return answer.saying(answer.body, Content_Encoding="gzip")


def in_another_charset(answer: Answer) -> Answer:
    body = answer.body.decode().encode("cp1251", "replace")
    return answer.saying(body, Content_Type="application/json; charset=windows-1251")


def refusing(status: int, code: str, **headers: str) -> ToAnswer:
    """The service itself is in trouble as soon as a key is looked at."""

    def change(answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        body = json.dumps({"error": {"code": code}}).encode()
        said = answer.saying(body, X_Error_Detail="Not now.", **headers)
        return replace(said, status=status, reason="Not Now")

    return change


def too_large_for_the_proxy(answer: Answer) -> Answer:
    if b"content_too_large" not in answer.body:
        return answer
    return Answer(413, "Too Large", {"Content-Type": "text/html"}, PAGE % b"413")


def asking_for_a_login(answer: Answer) -> Answer:
    """Let refused paths pass, and put a door of its own before the rest."""
    if answer.status == 404:
        return answer
    return Answer(401, "No", {"WWW-Authenticate": "Basic"}, b"login")


def late(answer: Answer) -> Answer:
    if b"chat.completion" in answer.body:
        time.sleep(0.3)
    return answer


def closing(answer: Answer) -> Answer:
    return answer.saying(answer.body, Connection="close")


def always_the_same_id(answer: Answer) -> Answer:
    one = b"00000000-0000-4000-8000-000000000000"
    return answer.saying(re.sub(rb'(?<="id":")[0-9a-f-]{36}', one, answer.body))


def with_more_models(answer: Answer) -> Answer:
    return answer.saying(answer.body.replace(b'"data":[', b'"data":[{"id":"other"},'))


def typographic(text: str) -> str:
    return text.replace(' "', " “").replace('" ', "” ").replace("--", "—")


def without_controls(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or c.isprintable() or c.isspace())


def without_astral(text: str) -> str:
    return "".join(c if ord(c) < 0x10000 else "?" for c in text)


def mistyped(key: str) -> str:
    return key[:20] + ("x" if key[20] != "x" else "y") + key[21:]
