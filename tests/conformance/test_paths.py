"""Two paths, one method each, no URL parameter: everything else is a 404.

The path is checked before the key and the body. If a request is almost right, the
sentence of the 404 names the mistake.
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
from tests.support.tables import each, words
from tests.support.wire import Answer, request

OTHER_PATHS = words("""
    / /v1 /v1/ /v2/models /v1/model /v1/models2 /v1/mode /v1/chat /v1/chat/
    /v1/chat/completion /v1/chat/completions/1 /v1/completions /v1/responses
    /v1/responses/1 /v1/messages /v1/files /v1/uploads /v1/embeddings
    /v1/audio/speech /v1/images/generations /v1/moderations /v1/assistants /v1/threads
    /v1/batches /v1/fine_tuning/jobs /v1/organization/api_keys /v1/keys /v1/account
    /v1/models/vendor-cabinet-preview-echo /api/v1/models /openai/v1/models
    /favicon.ico /robots.txt /docs /docs/errors /openapi.json /healthz /readyz /health
    /metrics /status /admin /admin/ /accounts/login/ /address.json /static/ /index.html
    /.well-known/security.txt /.git/config /.env /server-status /v1/models.json
""")

# The right path in another spelling: bytes are compared, nothing is decoded.
OTHER_SPELLINGS = words("""
    /v1/%6dodels /v1/model%73 /%76%31/models /v1%2fmodels /v1%2Fmodels /v1/models%2f
    /v1/./models /v1/../v1/models /./v1/models /../v1/models /v1/x/../models
    //v1/models /v1//models ///v1/models /v1/models/ /v1/models// /v1/models/.
    /V1/models /v1/Models /v1/MODELS /v1/models;x /v1;x/models /v1/models;
    /v1/models#f /v1/models# /v1/models%00 /v1/models%20 /v1/models. /v1/models,
    /v1/models& /v1/models%3f /v1/models%3fx=1 /v1/models+ /v1/models: /v1/models*
    /v1/models%0d%0a /v1/models%ff /v1/models%zz /v1/models% /v1/models\\ /v1\\models
    /v1/models|
""")

PARAMETERS = words("? ?? ?x ?x= ?=x ?x=1 ?& ?/ ?a=1&b=2 ?limit=20 ?api-version=1")

OTHER_METHODS = words("""
    HEAD OPTIONS PUT PATCH DELETE TRACE QUERY PROPFIND MKCOL PURGE SEARCH LINK REPORT
    M-SEARCH NOTIFY FOO BREW get post Get gET GETS GE G PoST X-MY-METHOD 1 _
    VERSION-CONTROL DESCRIBE GET_PARAMETER RPC_IN_DATA
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


@pytest.mark.parametrize("target", ["/v1/models?x=1", "/v1/models?", "/", "", "/v2"])
def test_a_wrong_path_in_absolute_form_is_not_found(api: Api, target: str) -> None:
    absolute = f"http://{api.endpoint.authority}{target}"
    assert_refused(api.ask("GET", absolute), "not_found")


@pytest.mark.parametrize("method", OTHER_METHODS)
@pytest.mark.parametrize("path", [MODELS, CHAT])
def test_every_other_method_is_not_found(api: Api, path: str, method: str) -> None:
    answer = api.ask(method, path)
    assert_refused(answer, "not_found", bodiless=method == "HEAD")


def test_each_path_accepts_only_its_own_method(api: Api) -> None:
    assert "POST" in assert_refused(api.ask("GET", CHAT), "not_found")
    assert "GET" in assert_refused(ask_with_body(api, "POST", MODELS), "not_found")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "FOO"])
def test_a_method_with_a_body_is_not_found(api: Api, method: str) -> None:
    assert_refused(ask_with_body(api, method, MODELS), "not_found")
    assert_refused(ask_with_body(api, method, CHAT), "not_found")


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
    assert assert_refused(answer, "not_found") == (
        "A web page asked, through a browser, for permission to call this API (CORS). "
        "Web pages get none, because anyone can read a key in a page; call the API "
        "from a server or a program. To test a key, use curl."
    )
    assert not [name for name, _ in answer.headers if "access-control" in name.lower()]


def test_an_origin_makes_no_difference_to_a_request_with_a_key(api: Api) -> None:
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, ORIGIN]))
    assert_echo(api.chat(draft("hello"), extra=[ORIGIN]), "hello")


@pytest.mark.parametrize("path", [MODELS, CHAT, "/", "/v1/nothing", "/v1/models?x"])
def test_head_has_no_body_and_the_connection_stays_open(api: Api, path: str) -> None:
    with api.endpoint.connect() as connection:
        connection.send(request("HEAD", path, api.usual_fields))
        answer = connection.read_answer(bodiless=True)
        assert_refused(answer, "not_found", bodiless=True)
        connection.send(request("GET", MODELS, api.usual_fields))
        assert connection.read_answer().status == 200


@each(
    "value",
    {
        "no key": None,
        "a wrong key": "Bearer sk-echo-wrong",
        "another scheme": "Basic YTpi",
    },
)
@pytest.mark.parametrize(
    "method, target",
    [("GET", "/v1/nothing"), ("GET", "/v1/models?x"), ("POST", MODELS), ("PUT", CHAT)]
    + [("OPTIONS", CHAT), ("FOO", MODELS), ("GET", "/")],
)
def test_the_path_is_checked_before_the_key(
    api: Api, method: str, target: str, value: str | None
) -> None:
    fields = [api.host, *([("Authorization", value)] if value else [])]
    answer = api.ask(method, target, fields)
    assert_refused(answer, "not_found")
    assert answer.header("WWW-Authenticate") is None


def test_the_path_is_checked_before_the_body(api: Api) -> None:
    assert_refused(api.ask("POST", "/v1/nothing", body=b" " * 32_769), "not_found")
    declared = [api.host, ("Content-Length", "1000000000")]
    assert_refused(api.ask("POST", "/v1/nothing", declared), "not_found")
    expecting = [*declared, ("Expect", "100-continue")]
    assert_refused(api.ask("POST", "/v1/nothing", expecting), "not_found")


def test_a_large_body_to_a_wrong_path_is_answered_without_a_reset(api: Api) -> None:
    answer = api.ask("POST", "/v1/files", body=b"x" * 5_000_000)
    assert_refused(answer, "not_found")


NEAR_MISSES = {
    "no version": ("POST", "/chat/completions", "/v1"),
    "no version, models": ("GET", "/models", "/v1"),
    "the version twice": ("POST", "/v1/v1/chat/completions", "twice"),
    "the version twice, models": ("GET", "/v1/v1/models", "twice"),
    "no slash after the version": ("POST", "/v1chat/completions", "slash"),
    "no slash after the version, models": ("GET", "/v1models", "slash"),
    "two slashes after the version": ("POST", "/v1//chat/completions", "slash"),
    "two slashes after the version, models": ("GET", "/v1//models", "slash"),
    "two slashes first": ("POST", "//v1/chat/completions", "slash"),
    "a trailing slash": ("POST", "/v1/chat/completions/", "slash"),
    "a trailing slash, models": ("GET", "/v1/models/", "slash"),
    "the responses API": ("POST", "/v1/responses", "Responses"),
    "the responses API with no version": ("POST", "/responses", "Responses"),
    "the old completions API": ("POST", "/v1/completions", "/chat/completions"),
    "an Anthropic client": ("POST", "/v1/messages", "Anthropic"),
    "one model": ("GET", "/v1/models/vendor-cabinet-preview-echo", "/v1/models"),
    "another model": ("GET", "/v1/models/gpt-4o", "/v1/models"),
    "a method of chat": ("GET", "/v1/chat/completions", "POST"),
    "a method of models": ("POST", "/v1/models", "GET"),
    "a rare method": ("PUT", "/v1/chat/completions", "POST"),
    "an unknown method": ("FOO", "/v1/models", "GET"),
    "an endpoint twice": ("POST", f"{CHAT}/chat/completions", "a whole endpoint"),
    "an endpoint twice, models": ("GET", "/v1/models/models", "a whole endpoint"),
    "models after chat": ("GET", "/v1/chat/completions/models", "a whole endpoint"),
    "an endpoint twice, no version": ("GET", "/models/models", "a whole endpoint"),
    "the base URL": ("GET", "/v1", "it has no page"),
    "the base URL and a slash": ("GET", "/v1/", "it has no page"),
    "the root": ("GET", "/", "it has no page"),
    "a message to the base URL": ("POST", "/v1", "the base URL itself"),
    "an Azure client": (
        "POST",
        "/openai/deployments/echo/chat/completions?api-version=2024-10-21",
        "set up for Azure OpenAI",
    ),
    "an Azure client, our path": ("POST", f"{CHAT}?api-version=1", "Azure OpenAI"),
    "an Ollama client": ("GET", "/api/tags", "the Ollama API"),
    "an Ollama client, chat": ("POST", "/api/chat", "the Ollama API"),
    "a Gemini client": ("GET", "/v1beta/models", "the Gemini API"),
    "a Gemini client, chat": ("POST", "/v1beta/models/x:generateContent", "Gemini API"),
    "a health check": ("GET", "/health", "Health checks"),
    "a scrape": ("GET", "/metrics", "Health checks and metrics"),
    "a reader": ("GET", "/docs", "in the cabinet"),
    "a reader of OpenAPI": ("GET", "/openapi.json", "in the cabinet"),
    "a browser": ("GET", "/favicon.ico", "browsers and crawlers"),
    "a parameter": ("GET", "/v1/models?limit=20", "parameter"),
    "an empty parameter": ("GET", "/v1/models?", "parameter"),
    "a parameter of chat": ("POST", "/v1/chat/completions?stream=1", "parameter"),
}


@each("method, target, word", NEAR_MISSES)
def test_a_near_miss_is_named(api: Api, method: str, target: str, word: str) -> None:
    detail = assert_refused(api.ask(method, target), "not_found")
    assert word in detail, detail


def test_a_near_miss_gets_a_more_specific_sentence(api: Api) -> None:
    miss = assert_refused(api.ask("GET", "/zebra"), "not_found")
    for method, target, _ in NEAR_MISSES.values():
        assert assert_refused(api.ask(method, target), "not_found") != miss
