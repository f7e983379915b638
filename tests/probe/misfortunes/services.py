"""The address leads to another API, or to a gateway in front of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.probe.gateway import (
    Behavior,
    answering,
    as_json,
    editing,
    has_key,
    is_chat,
    page,
    pass_on,
    when,
)
from tests.probe.misfortunes.arranging import OTHER_KEY, kind_of, row
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.provider import MODEL, STREAM, Answer, completion, event, provider
from tests.probe.setups import ProbeInput, Resources

_COMPLETED = answering(200, completion(), Content_Type="application/json")
_MODELS = as_json(200, {"object": "list", "data": [{"id": "m-1", "object": "model"}]})


def _row(name, behave, *says, by="you", key=OTHER_KEY, **more):
    return row(name, behave, *says, by=by, key=key, timeout=5.0, **more)


def _error(status: int, message: str, /, **more: object) -> Behavior:
    return as_json(status, {"error": {"message": message, **more}})


def _google(status: int, message: str, reason: str) -> Behavior:
    """Return an error as Google's APIs do: in a list."""
    error = {"code": status, "message": message, "status": reason}
    return as_json(status, [{"error": error}])


def _at_provider(name, *says, finding, by="operator", chat=MODEL, **behavior):
    """Put a provider with these options at the address."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with provider(**behavior) as server:
            yield ProbeInput(server.base_url, OTHER_KEY, timeout=5.0, chat=chat)

    return Misfortune(name, arrange, says, by, id=finding)


def _asking(with_key: Behavior) -> Behavior:
    return when(has_key, with_key, _error(401, "No token", type="auth"))


_TOKEN = f"eyJ{'aB3' * 3000}"
_LONG_KEYS = (
    _row("a token of 9 KB is accepted", _asking(_MODELS), by="", key=_TOKEN),
    _row(
        "a token of 9 KB, and nginx accepts only 8",
        _asking(page(400, "400 Request Header Or Cookie Too Large")),
        "Too Large",
        key=_TOKEN,
        id="key.refused",
    ),
)
_NO_API_KEY = {"error": {"message": "x-api-key is required"}}
_APIS = (
    _row(
        "llama.cpp is still loading the model",
        _error(503, "Loading model", type="unavailable_error"),
        "Loading model",
        "few minutes",
        by="operator",
        id="http.gateway",
    ),
    *(
        _row(
            f"{name}, so the place is refused",
            refusal,
            says,
            "key is not at fault",
            "IP address|country",
            by="you operator",
            id="http.not_from_here",
        )
        for name, refusal, says in (
            (
                "OpenAI does not serve the country",
                _asking(_error(403, "Country, region, or territory not supported")),
                "not supported",
            ),
            (
                "the project has a list of IP addresses",
                _asking(_error(401, "Your IP", code="ip_not_authorized")),
                "Your IP",
            ),
            (
                "Kong restricts IP addresses",
                as_json(403, {"message": "IP address not allowed: 192.0.2.7"}),
                "192.0.2.7",
            ),
            (
                "Gemini is not offered here",
                _google(400, "User location is not supported", "FAILED_PRECONDITION"),
                "User location",
            ),
            (
                "CloudFront blocks the country",
                page(403, "ERROR", "configured to block access from your country."),
                "403",
            ),
        )
    ),
    *(
        _row(
            f"a refusal has its text in {name}",
            _asking(as_json(status, content)),
            "Token has ended",
            by="you",
            id=finding,
        )
        for name, status, content, finding in (
            (
                "detail.error",
                401,
                {"detail": {"error": "Token has ended"}},
                "key.refused",
            ),
            ("error_msg", 401, {"error_msg": "Token has ended"}, "key.refused"),
            (
                "base_resp",
                401,
                {"base_resp": {"status_msg": "Token has ended"}},
                "key.refused",
            ),
        )
    ),
    _row(
        "403 says that the key is invalid",
        _asking(as_json(403, {"message": "Invalid access token."})),
        "Invalid access token",
        id="key.refused",
    ),
    _row(
        "a platform wants a login of its own",
        page(401, "Authentication Required"),
        "login of its own",
        "operator",
        by="you operator",
        id="http.sign_in",
    ),
    _row(
        "the list of models is a bare array",
        _asking(as_json(200, [{"id": "m-1", "object": "model"}])),
        "bare array",
        "by hand",
        by="nobody",
        id="endpoint.no_models",
    ),
    _row(
        "Azure OpenAI wants api-key, not a bearer",
        _error(401, "Access denied due to invalid subscription key", code="401"),
        "subscription key",
        "another header",
        id="key.other_header",
    ),
    _row(
        "Gemini refuses the key",
        _google(400, "API key not valid. Please pass another.", "INVALID_ARGUMENT"),
        "API key not valid",
    ),
    _row(
        "Gemini without its OpenAI path works only there",
        when(
            lambda call: call.target.startswith("/v1beta/openai/models"),
            _MODELS,
            _google(404, "Requested entity was not found.", "NOT_FOUND"),
        ),
        "not found|v1beta/openai|path",
        path="/v1beta",
    ),
    _row(
        "a service without a list of models completes texts",
        when(is_chat, _COMPLETED, _error(404, "Not found", type="not_found")),
        "stream",
        by="operator",
        chat="m-1",
        id="stream.broken",
    ),
    *(
        _row(
            f"a service {what}, and no --chat",
            when(is_chat, chat, models),
            "list of models|--chat",
            by="nobody",
            id="endpoint.no_models",
        )
        for what, chat, models in (
            ("without a list of models", _COMPLETED, _error(404, "Not found")),
            (
                "without a list, which refuses in a form of its own",
                as_json(403, {"message": "Missing Authentication Token"}),
                as_json(404, {"message": "Not found"}),
            ),
            (
                "that wants x-api-key for its list, as Anthropic",
                _error(401, "x-api-key is required"),
                as_json(401, {"type": "error", **_NO_API_KEY}),
            ),
        )
    ),
    _row(
        "the model does not exist, as Ollama says it",
        when(
            is_chat,
            _error(
                404, 'model "m-2" not found, try pulling it first', type="api_error"
            ),
            _MODELS,
        ),
        "m-2",
        "not found|does not offer",
        chat="m-2",
    ),
    _row(
        "OpenRouter: insufficient credits",
        when(
            is_chat,
            _error(402, "Insufficient credits", code=402),
            _MODELS,
        ),
        "Insufficient credits",
        chat="m-1",
        id="endpoint.quota",
    ),
    _row(
        "FastAPI that is no model server",
        as_json(404, {"detail": "Not Found"}),
        "404",
        "neither|Not Found",
        id="http.other_api",
    ),
    _row(
        "AirPlay holds port 5000 of a Mac",
        answering(403, Server="AirTunes/870.14.1"),
        "AirPlay",
        id="http.other_api",
    ),
    _row(
        "a list of no models, as Ollama had it",
        as_json(200, {"object": "list", "data": None}),
        "empty",
        by="operator",
        id="models.empty",
    ),
    _row(
        "Elasticsearch",
        as_json(
            401,
            {
                "error": {
                    "root_cause": [{"type": "security_exception"}],
                    "type": "security_exception",
                    "reason": "missing authentication credentials",
                },
                "status": 401,
            },
            WWW_Authenticate='Basic realm="security"',
            X_elastic_product="E",
        ),
        "user name and a password",
        "except the path",
        by="nobody",
    ),
    _row(
        "an MCP server answers",
        as_json(
            406,
            {
                "jsonrpc": "2.0",
                "error": {"code": -32000, "message": "Client must accept events"},
            },
        ),
        "406",
        "must accept|neither|not",
        id="endpoint.refused",
    ),
    row(
        "a Readback key is used with another service",
        when(has_key, _MODELS, _error(401, "No key", type="auth")),
        "not respond like a Readback",
        by="you",
        id="key.readback_elsewhere",
    ),
    _at_provider(
        "the list of models is empty",
        "empty",
        chat=None,
        models=Answer(200, b'{"object":"list","data":[]}'),
        finding="models.empty",
    ),
    _at_provider(
        "a service always streams",
        "with a stream",
        "turn streaming on",
        completed=Answer(200, parts=STREAM),
        finding="chat.form",
    ),
    _at_provider(
        "a service refuses to respond in one piece",
        "Stream must be set to true",
        completed=Answer(400, b'{"detail":"Stream must be set to true"}'),
        by="you operator",
        finding="endpoint.refused",
    ),
    _at_provider(
        "a stream is cut off",
        "streaming off",
        "closed before",
        pause=0,
        streamed=Answer(200, b"", {"Content-Length": "999"}, STREAM[:1]),
        finding="stream.broken",
    ),
    _at_provider(
        "the model for the completion is not listed, but answers",
        by="",
        chat="gpt-smal",
        finding="",
    ),
    _at_provider(
        "the response is not a completion",
        "completion",
        completed=Answer(200, b'{"result":"1 2 3"}'),
        finding="chat.form",
    ),
    _at_provider(
        "a proxy holds a stream back until its end",
        "stream",
        by="operator",
        pause=0.04,
        is_buffered=True,
        finding="stream.together",
    ),
    _at_provider(
        "a stream ends without `[DONE]`",
        "DONE",
        pause=0,
        streamed=Answer(200, parts=STREAM[:-1]),
        finding="stream.broken",
    ),
    _at_provider(
        "a stream contains an error",
        "Full",
        pause=0,
        streamed=Answer(200, parts=(event("1"), b'data: {"error":"Full"}\n\n')),
        finding="stream.broken",
    ),
)
_UNASKED = as_json(422, {"detail": [{"loc": ["header", "authorization"], "msg": "No"}]})
_FORMS = (
    *(
        row(
            f"422 {what} to requests without a key, and {whose}",
            when(has_key, then, refusal),
            says,
            by=by,
            key=key,
        )
        for what, refusal in (
            ("in FastAPI's form", _UNASKED),
            ("in another form", as_json(422, {"message": "Validation failed"})),
        )
        for whose, key, then, says, by in (
            ("the key of a provider", OTHER_KEY, _MODELS, "422", "nobody"),
            ("no key", "", _MODELS, "422|authorization", "you operator"),
        )
    ),
    row(
        "FastAPI wants a header for the key, and no key was given",
        _UNASKED,
        "authorization",
        by="you",
        key="",
        id="key.none",
    ),
    row(
        "a validation error of a gateway, whatever the key",
        when(has_key, as_json(422, {"message": "Invalid"}), _error(401, "No key")),
        "422",
        by="operator",
        key=OTHER_KEY,
    ),
    row(
        "a gateway asks for a condition that no client sends",
        answering(428, b"Precondition Required"),
        "428",
        by="operator",
        key="",
    ),
    row(
        "a provider answers with 201",
        when(
            is_chat,
            answering(201, completion(), Content_Type="application/json"),
            when(has_key, as_json(201, {"data": [{"id": "m-1"}]}), _error(401, "No")),
        ),
        "stream",
        by="operator",
        key=OTHER_KEY,
        chat="m-1",
        id="stream.broken",
    ),
    row(
        "a gateway makes each 200 of a Readback a 203",
        editing(
            lambda reply: replace(reply, status=203) if reply.status == 200 else reply
        ),
        by="",
    ),
    row(
        "a server that lists its models with 201",
        as_json(201, {"data": [{"id": "m-1"}]}),
        by="",
        key=OTHER_KEY,
    ),
)
_PATHS = tuple(
    row(
        f"the API is at /v1, and {path} was entered",
        pass_on,
        r"127\.0\.0\.1:\d+/v1\b",
        by="you",
        path=path,
    )
    for path in ("/api/v1", "/openai/v1", "/v1beta/openai", "/v1/openai")
)
SERVICES = kind_of("services", *_LONG_KEYS, *_APIS, *_FORMS, *_PATHS)
