"""Changes that proxies, gateways and filters make to messages in transit."""

import json
import re
from dataclasses import replace

from tests.probe.provider import error
from tests.probe.relay import Request, Response, ResponseFilter

PAGE = b"<!doctype html><title>%b</title><p>Hello."

# Changes to a request.


def remove_authorization(request: Request) -> Request:
    kept = {k: v for k, v in request.headers.items() if k.lower() != "authorization"}
    return replace(request, headers=kept)


def add_parameter(request: Request) -> Request:
    separator = "&" if "?" in request.target else "?"
    return replace(request, target=f"{request.target}{separator}utm_source=proxy")


# Changes to a response.


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


def require_login(response: Response) -> Response:
    """Require a login for everything except unknown paths."""
    if response.status == 404:
        return response
    return Response(401, "No", {"WWW-Authenticate": "Basic"}, b"login")


def repeat_id(response: Response) -> Response:
    one = b"00000000-0000-4000-8000-000000000000"
    return response.with_body(re.sub(rb'(?<="id":")[0-9a-f-]{36}', one, response.body))


def fail_with_200(response: Response) -> Response:
    if response.status != 200:
        return response
    return response.with_body(error(message="The model is overloaded"))


def mistype(key: str) -> str:
    return key[:20] + ("x" if key[20] != "x" else "y") + key[21:]
