"""The detail of a 404 names the mistake and says what to change."""

import pytest
from tests.support.tables import words

from readback.api.endpoints.near_misses import NearMiss, explain_not_found
from readback.differences import ADVICE


def explain(request_line: str) -> NearMiss:
    method, target = request_line.encode().split(b" ")
    return explain_not_found(method, target)


NOWHERE = "Nothing is served at this path. This API serves only"
EXACTLY_CHAT = "The path must be exactly /v1/chat/completions."
CHAT_ALONE = EXACTLY_CHAT[:-1] + ", with nothing before it."
MISTAKES = [
    ("POST /chat/completions", EXACTLY_CHAT, "base_url"),
    ("POST /chat/completions/", EXACTLY_CHAT, "base_url"),
    ("GET /models", "The path must be exactly /v1/models.", "base_url"),
    ("POST /v1/v1/chat/completions", CHAT_ALONE, "base_url"),
    ("POST /v1chat/completions", EXACTLY_CHAT, "base_url"),
    ("POST /v1/chat/completions/", EXACTLY_CHAT, ""),
    ("POST /v1//chat/completions", EXACTLY_CHAT, "base_url"),
    ("POST /api/v1/chat/completions", CHAT_ALONE, "base_url"),
    ("POST /V1/Chat/Completions", EXACTLY_CHAT, "base_url"),
    ("POST /v1/responses", "Responses API", "/responses"),
    ("POST /responses", "Responses API", "/responses"),
    ("GET /responses/resp_1", "Responses API", "/responses"),
    # The client adds /v1 to a base URL that already ends in /v1.
    ("POST /v1/v1/responses", "Responses API", "/responses"),
    ("POST /v1/v1/messages", "the Anthropic API", "/messages"),
    ("POST /v1/completions", "legacy Completions", "/completions"),
    ("POST /v1/embeddings", "Embeddings are not", "/embeddings"),
    ("POST /v1/files", "Files are not", "/files"),
    ("POST /v1/uploads", "File upload is not", "/uploads"),
    ("GET /v1/models/vendor-cabinet-preview-echo", NOWHERE, ""),
    ("POST /v1/models", "only accepts GET", ""),
    ("GET /v1/chat/completions", "only accepts POST", ""),
    ("HEAD /v1/models", "only accepts GET", ""),
    ("OPTIONS /v1/models", "only accepts GET", ""),
    ("GET /v1/models?limit=1", "no URL parameters", ""),
    ("GET /v1/models?", "no URL parameters", ""),
    ("OPTIONS *", "Nothing is served at this path", ""),
    ("GET /v1/probe", "The probe asks", ""),
    ("GET /", "it has no page", ""),
    ("HEAD /v1", "it has no page", ""),
    ("GET /v1/", "it has no page", ""),
    ("POST /v1", "was sent to the base URL itself", ""),
    ("POST /", "the one that ends in /v1/chat/completions", ""),
    ("GET /zebra", NOWHERE, ""),
    ("GET /api/v0/models", NOWHERE, ""),
    ("GET /v1x/files", NOWHERE, ""),
]


@pytest.mark.parametrize("request_line, expected, difference", MISTAKES)
def test_the_mistake_is_named_and_the_difference_says_what_to_change(
    request_line: str, expected: str, difference: str
) -> None:
    miss = explain(request_line)
    assert expected in miss.sentence
    assert miss.difference == difference
    assert not difference or difference in ADVICE


@pytest.mark.parametrize(
    "path",
    words("""
        /v1/chat/completions/chat/completions /v1/models/models
        /v1/chat/completions/models /v1/models/chat/completions
        /chat/completions/chat/completions /models/models /chat/completions/models
        /v1/chat/completions/v1/chat/completions /v1/chat/completions/v1/models
        /chat/completions/v1/models /v1/chat/completions/responses
        /v1/chat/completions/completions /v1/models/embeddings
    """),
)
def test_a_base_url_that_is_a_whole_endpoint_is_named(path: str) -> None:
    sentence = (
        "The base URL contains a whole endpoint, and the client adds another one."
    )
    assert explain(f"GET {path}") == explain(f"POST {path}") == (sentence, "base_url")


# Targets that clients of other APIs request, with and without our /v1 before them.
OTHER_APIS = {
    "/openai/deployments": (
        "Azure OpenAI",
        """
        /openai/deployments/gpt-4o/chat/completions
        /openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21
        /v1/openai/deployments/echo/chat/completions?api-version=2024-10-21
        /openai/deployments /openai/deployments?api-version=preview
        /v1/chat/completions?api-version=preview /v1/models?x=1&api-version=2024
        """,
    ),
    "/api": (
        "the Ollama API",
        """
        /api/tags /api/chat /api/generate /api/show /api/version /api/ps /api/embed
        /v1/api/tags /v1/api/chat
        """,
    ),
    "/v1beta": (
        "the Gemini API",
        """
        /v1beta /v1beta/models /v1beta/models/gemini-2.0-flash:generateContent
        /v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse
        /v1/models/gemini-2.0-flash:generateContent /v1/v1beta/models
        /models/x:countTokens
        """,
    ),
    "/messages": ("the Anthropic API", "/v1/messages /messages /v1/messages/batches"),
}


@pytest.mark.parametrize("difference", OTHER_APIS)
def test_a_client_of_another_api_is_told_to_choose_another_provider(
    difference: str,
) -> None:
    name, targets = OTHER_APIS[difference]
    for target in words(targets):
        miss = explain(f"POST {target}")
        assert (name in miss.sentence, miss.difference) == (True, difference), target
    assert ADVICE[difference].startswith("Choose an OpenAI-compatible provider")


def test_from_a_browser_only_options_is_explained_differently() -> None:
    for method in (b"GET", b"POST"):
        miss = explain_not_found(method, b"/v1/responses", from_browser=True)
        assert miss == explain_not_found(method, b"/v1/responses")


def test_nobody_is_told_to_revoke_what_is_not_a_key() -> None:
    for target in words("/v1/models?monkey=1 /v1/models?key= /v1/keys /v1/task-runner"):
        assert "revoke" not in explain(f"GET {target}").sentence
