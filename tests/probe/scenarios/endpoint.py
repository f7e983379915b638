"""The address is that of another OpenAI-compatible API."""

from tests.probe.provider import (
    KEY,
    MODEL,
    NO_KEY,
    STREAM,
    Answer,
    completion,
    error,
    event,
)
from tests.probe.setups import Scenario
from tests.probe.setups_endpoint import at_provider, readback_key_elsewhere

_PAUSE = 0.04
_BAD_KEY = KEY[:-1] + "x"

ENDPOINT = (
    Scenario(
        "the address is that of Anthropic's own API",
        "http.anthropic",
        at_provider(
            without_key=Answer(
                401,
                b'{"type":"error","error":{"type":"authentication_error",'
                b'"message":"x-api-key header is required"}}',
            )
        ),
    ),
    Scenario(
        "a Readback key is used with another service",
        "key.readback_elsewhere",
        readback_key_elsewhere,
    ),
    Scenario(
        "another service responds as if there were no key",
        "key.refused_or_lost",
        at_provider(key=_BAD_KEY, wrong_key=Answer(401, error(**NO_KEY))),
    ),
    Scenario(
        "another service has no list of models",
        "endpoint.no_models",
        at_provider(models=Answer(404, error(message="Not here"))),
    ),
    Scenario(
        "another service forbids the request",
        "endpoint.forbidden",
        at_provider(models=Answer(403, error(message="Country not supported"))),
    ),
    Scenario(
        "the account at another service has no quota left",
        "endpoint.quota",
        at_provider(
            models=Answer(429, error(message="No plan", type="insufficient_quota"))
        ),
    ),
    Scenario(
        "another service refuses the request",
        "endpoint.refused",
        at_provider(models=Answer(422, error(message="No api-version"))),
    ),
    Scenario(
        "the list of models cannot be read",
        "models.unreadable",
        at_provider(models=Answer(200, b'{"models":["gpt-small"]}')),
    ),
    Scenario(
        "the model for the completion is not listed",
        "models.no_model",
        at_provider(chat="gpt-smal"),
    ),
    Scenario(
        "the response is not a completion",
        "chat.form",
        at_provider(chat=MODEL, completed=Answer(200, b'{"result":"1 2 3"}')),
    ),
    Scenario(
        "another service does not offer the model",
        "chat.no_model",
        at_provider(
            chat=MODEL,
            completed=Answer(
                404, error(message="No such model", code="model_not_found")
            ),
        ),
    ),
    Scenario(
        "a proxy holds a stream back until its end",
        "stream.together",
        at_provider(chat=MODEL, pause=_PAUSE, is_buffered=True),
    ),
    Scenario(
        "another service ignores `stream`",
        "stream.ignored",
        at_provider(chat=MODEL, streamed=Answer(200, completion())),
    ),
    Scenario(
        "a stream ends without `[DONE]`",
        "stream.unfinished",
        at_provider(chat=MODEL, pause=0, streamed=Answer(200, parts=STREAM[:-1])),
    ),
    Scenario(
        "a stream contains an error",
        "stream.broken",
        at_provider(
            chat=MODEL,
            pause=0,
            streamed=Answer(
                200, parts=(event("1"), b"data: " + error(message="Full") + b"\n\n")
            ),
        ),
    ),
)
