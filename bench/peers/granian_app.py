"""Granian's own interface, RSGI: the contract without a framework."""

from echo import (
    MAX_BODY,
    MODELS,
    Refused,
    check_key,
    check_media_type,
    completion,
    read,
)

JSON = [("content-type", "application/json")]
CHALLENGE = [*JSON, ("www-authenticate", "Bearer")]


async def app(scope, protocol):
    try:
        body = await answer(scope, protocol)
    except Refused as refused:
        headers = CHALLENGE if refused.status == 401 else JSON
        protocol.response_bytes(refused.status, headers, refused.body)
    else:
        protocol.response_bytes(200, JSON, body)


async def answer(scope, protocol) -> bytes:
    endpoint = (scope.method, scope.path)
    known = endpoint in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"))
    if not known or scope.query_string:
        raise Refused(404, "not_found")
    headers = scope.headers
    digest = check_key(headers.get_all("authorization"))
    if endpoint[0] == "GET":
        return MODELS
    if int(headers.get("content-length") or 0) > MAX_BODY:
        raise Refused(413, "request_too_large")
    encoding = headers.get("content-encoding")
    check_media_type(headers.get_all("content-type"), encoding)
    return completion(read(await protocol()), digest)
