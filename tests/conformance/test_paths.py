"""There are two paths, each with one method and no query; anything else is a 404.

The sentences for paths that are almost right are in tests/unit, and the order of the
checks is in test_order.py.
"""

import pytest

from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    assert_success,
    compact,
    draft,
)
from tests.support.tables import words
from tests.support.wire import Answer

OTHER_PATHS = words("""
    / /v1/ /v2/models /v1/model /v1/models2 /v1/chat /v1/chat/completions/1
    /v1/completions /v1/responses /v1/messages /v1/embeddings /api/v1/models
    /v1/models/vendor-cabinet-preview-echo /favicon.ico /robots.txt /docs/errors
    /openapi.json /healthz /readyz /metrics /status /admin/ /accounts/login/ /static/
""")

# The right path in another spelling: bytes are compared, and nothing is decoded.
OTHER_SPELLINGS = words("""
    /v1/%6dodels /v1%2Fmodels /v1/models%2f /v1/./models /v1/../v1/models //v1/models
    /v1//models /v1/models/ /v1/models/. /V1/models /v1/Models /v1/models;x /v1/models#f
    /v1/models%00 /v1/models%20 /v1/models. /v1/models& /v1/models%3fx=1 /v1/models%zz
    /v1\\models /v1/models|
""")

PARAMETERS = words("? ?? ?x ?x= ?=x ?x=1 ?& ?/ ?a=1&b=2 ?limit=20 ?api-version=1")

OTHER_METHODS = words("""
    HEAD OPTIONS PUT PATCH DELETE TRACE PROPFIND BREW get Post GETS G X-MY-METHOD 1 _
    !#$%&'*+-.^`|~
""")


def ask_with_body(api: Api, method: str, target: str) -> Answer:
    fields = [*api.usual_fields, ("Content-Type", "application/json")]
    return api.ask(method, target, fields, compact(draft()))


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_every_other_path_is_not_found(api: Api, path: str) -> None:
    assert_refused(api.ask("GET", path), "not_found")
    assert_refused(ask_with_body(api, "POST", path), "not_found")


@pytest.mark.parametrize("path", OTHER_SPELLINGS)
def test_another_spelling_of_the_path_is_not_found(api: Api, path: str) -> None:
    assert_refused(api.ask("GET", path), "not_found")
    chat = path.replace("models", "chat/completions")
    assert_refused(ask_with_body(api, "POST", chat), "not_found")


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_any_url_parameter_is_not_found(api: Api, parameters: str) -> None:
    detail = assert_refused(api.ask("GET", MODELS + parameters), "not_found")
    assert "parameter" in detail
    detail = assert_refused(ask_with_body(api, "POST", CHAT + parameters), "not_found")
    assert "parameter" in detail


@pytest.mark.parametrize("method", OTHER_METHODS)
@pytest.mark.parametrize("path", [MODELS, CHAT])
def test_every_other_method_is_not_found(api: Api, path: str, method: str) -> None:
    answer = api.ask(method, path)
    assert_refused(answer, "not_found", bodiless=method == "HEAD")


def test_the_asterisk_of_options_is_not_found(api: Api) -> None:
    assert_refused(api.ask("OPTIONS", "*"), "not_found")


ORIGIN = ("Origin", "https://example.org")


@pytest.mark.parametrize("path", [CHAT, MODELS, "/", "/v1/responses", "/zebra"])
def test_a_cors_preflight_is_not_found(api: Api, path: str) -> None:
    preflight = [
        ORIGIN,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization,content-type"),
    ]
    answer = api.ask("OPTIONS", path, [api.host, *preflight])
    assert "(CORS)" in assert_refused(answer, "not_found")
    assert not [name for name, _ in answer.headers if "access-control" in name.lower()]


def test_an_origin_makes_no_difference_to_a_request_with_a_key(api: Api) -> None:
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, ORIGIN]))
    assert_echo(api.chat(draft("hello"), extra=[ORIGIN]), "hello")
