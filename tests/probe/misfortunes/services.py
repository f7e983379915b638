"""The address belongs to something else: another API, a web site, a login page."""

from tests.probe.gateway import (
    answering,
    as_json,
    has_key,
    is_chat,
    pass_on,
    when,
)
from tests.probe.misfortunes.arranging import kind_of, through
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.provider import completion

_KEY = "sk-proj-" + "T3BlbkFJ" * 5
_COMPLETED = answering(200, completion(), Content_Type="application/json")
_NOT_FOUND = as_json(404, {"error": {"message": "Not found", "type": "not_found"}})
_MODELS = as_json(200, {"object": "list", "data": [{"id": "m-1", "object": "model"}]})


def _row(name, behave, *says, by="you", path="/v1", key=_KEY, chat=None, **more):
    arrange = through(behave, path, key=key, chat=chat, timeout=5.0)
    return Misfortune(name, arrange, says, by, blame="program", **more)


def _login(location: str):
    return answering(302, Location=location)


_APIS = (
    _row(
        "Azure OpenAI without api-version and deployment",
        as_json(
            404,
            {"error": {"code": "404", "message": "Resource not found"}},
            apim_request_id="a1",
            x_ms_region="West Europe",
        ),
        "Resource not found|Azure",
        path="/openai/v1",
        by="you",
    ),
    _row(
        "Azure OpenAI wants api-key, not a bearer",
        as_json(
            401,
            {
                "error": {
                    "code": "401",
                    "message": "Access denied due to invalid "
                    "subscription key or wrong API endpoint.",
                }
            },
        ),
        "subscription key|not accept",
    ),
    _row(
        "Gemini at its own path",
        as_json(
            404,
            [
                {
                    "error": {
                        "code": 404,
                        "message": "models/ is not found for API version v1",
                        "status": "NOT_FOUND",
                    }
                }
            ],
        ),
        "404",
        "is not found|Gemini|Google|path|models",
    ),
    _row(
        "Gemini refuses the key",
        as_json(
            400,
            [
                {
                    "error": {
                        "code": 400,
                        "message": "API key not valid. Please pass a valid API key.",
                        "status": "INVALID_ARGUMENT",
                    }
                }
            ],
        ),
        "API key not valid",
    ),
    _row(
        "Gemini without its OpenAI path works only there",
        when(
            lambda call: call.target.startswith("/v1beta/openai/models"),
            _MODELS,
            as_json(
                404,
                [
                    {
                        "error": {
                            "code": 404,
                            "message": "Requested entity was not found.",
                            "status": "NOT_FOUND",
                        }
                    }
                ],
            ),
        ),
        "not found|v1beta/openai|path",
        path="/v1beta",
    ),
    _row(
        "Ollama at its root",
        when(
            lambda call: call.target.startswith("/v1/"),
            _MODELS,
            answering(404, b"404 page not found", Content_Type="text/plain"),
        ),
        "/v1",
        path="",
    ),
    _row(
        "Ollama at /api",
        when(
            lambda call: call.target.startswith("/v1/"),
            _MODELS,
            answering(404, b"404 page not found", Content_Type="text/plain"),
        ),
        "/v1",
        path="/api",
    ),
    _row(
        "LiteLLM refuses a key that does not start with sk-",
        when(
            has_key,
            as_json(
                401,
                {
                    "error": {
                        "message": "LiteLLM Virtual Key expected. "
                        "Received=abc, expected to start with 'sk-'.",
                        "type": "auth_error",
                        "code": "401",
                    }
                },
                x_litellm_version="1.40",
            ),
            as_json(
                401,
                {
                    "error": {
                        "message": "No api key passed in.",
                        "type": "auth_error",
                        "code": "401",
                    }
                },
            ),
        ),
        "expected to start with",
        key="abc-def-0123456789",
    ),
    _row(
        "Anthropic: not found",
        as_json(
            404,
            {
                "type": "error",
                "error": {"type": "not_found_error", "message": "Not found"},
            },
        ),
        "Anthropic",
    ),
    _row(
        "vLLM is loading its model",
        answering(503, b"", Server="uvicorn"),
        "503",
        by="operator",
    ),
    _row(
        "vLLM without a key asks for one",
        when(has_key, _MODELS, as_json(401, {"error": "Unauthorized"})),
        by="you",
        key="",
    ),
    _row(
        "llama.cpp is loading",
        as_json(
            503,
            {
                "error": {
                    "code": 503,
                    "message": "Loading model",
                    "type": "unavailable_error",
                }
            },
        ),
        "Loading model",
        by="operator",
    ),
    _row(
        "text-generation-inference has no list of models",
        when(is_chat, _COMPLETED, answering(404)),
        "stream|models|404",
        chat="tgi",
        by="you operator network",
    ),
    _row(
        "a service without a list of models completes texts",
        when(is_chat, _COMPLETED, _NOT_FOUND),
        "stream",
        by="operator",
        chat="m-1",
    ),
    _row(
        "a service without a list of models, and no --chat",
        when(is_chat, _COMPLETED, _NOT_FOUND),
        "list of models|--chat",
        by="you operator",
    ),
    _row(
        "the model does not exist, as Ollama says it",
        when(
            is_chat,
            as_json(
                404,
                {
                    "error": {
                        "message": 'model "m-2" not found, try pulling it first',
                        "type": "api_error",
                    }
                },
            ),
            _MODELS,
        ),
        "m-2",
        "not found|does not offer",
        chat="m-2",
        never=("no chat completions",),
    ),
    _row(
        "OpenRouter: insufficient credits",
        when(
            is_chat,
            as_json(402, {"error": {"message": "Insufficient credits", "code": 402}}),
            _MODELS,
        ),
        "Insufficient credits",
        chat="m-1",
    ),
    _row(
        "OpenAI: the country is not supported",
        when(
            has_key,
            as_json(
                403,
                {
                    "error": {
                        "code": "unsupported_country_region_territory",
                        "message": "Country, region, or territory not supported",
                    }
                },
            ),
            as_json(401, {"error": {"message": "no key", "code": "x"}}),
        ),
        "not supported",
        by="you network operator",
    ),
    _row(
        "FastAPI that is no model server",
        as_json(404, {"detail": "Not Found"}),
        "404",
        "neither|Not Found",
    ),
    _row(
        "a GraphQL server",
        as_json(400, {"errors": [{"message": "Must provide query string."}]}),
        "Must provide query|neither|not .*API",
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
        "missing authentication credentials|another|not .*API|own login",
    ),
    _row(
        "the metrics port answers",
        answering(404, b"Not Found", Content_Type="text/plain; version=0.0.4"),
        "404",
        by="you operator network",
    ),
    _row(
        "an MCP server answers",
        as_json(
            406,
            {
                "jsonrpc": "2.0",
                "error": {
                    "code": -32000,
                    "message": "Not Acceptable: Client must accept text/event-stream",
                },
                "id": None,
            },
        ),
        "406",
        "must accept|neither|not",
    ),
)
_RIGHT_PATHS = (
    ("/api/v1", "the API is at /v1, and /api/v1 was entered"),
    ("/openai/v1", "the API is at /v1, and /openai/v1 was entered"),
    ("/v1beta/openai", "the API is at /v1, and /v1beta/openai was entered"),
    ("/v1/openai", "the API is at /v1, and /v1/openai was entered"),
    ("/readback/v1", "the API is at /v1, and /readback/v1 was entered"),
)
_PATHS = tuple(
    Misfortune(name, through(pass_on, path), (r"127\.0\.0\.1:\d+/v1\b",), "you")
    for path, name in _RIGHT_PATHS
)
SERVICES = kind_of("services", *_APIS, *_PATHS)
