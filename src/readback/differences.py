"""The ways in which a request can differ from the contract, and what to change.

A difference has an id that says what it is: the name of a field in the body
(`temperature`, `stream`), a part of the messages (`messages.system`, `message.name`), a
header (`content-type`), or the path of another API (`/responses`). The API stores the
ids of a refused request in the journal, and `programs.toml` says for each program how
to remove a difference.
"""

from typing import NamedTuple

from readback.contract import MAX_CONTENT_BYTES, MAX_TOKENS, MODEL, VERSION_PREFIX

# Stands for a field whose name is never quoted, because it could be anything.
UNNAMED = "*"
# The path shows that the base URL is wrong.
BASE_URL = "base_url"
# The body is too large; with BODY_UNUSED, the request needs no body at all.
BODY_TOO_LARGE = "body.too_large"
BODY_UNUSED = "body.unused"


class OtherApi(NamedTuple):
    """Another API that programs may expect here, and what refusals say about it."""

    sentence: str
    advice: str


def _provider(sentence: str, name: str) -> OtherApi:
    advice = f"Choose an OpenAI-compatible provider instead of {name}."
    return OtherApi(sentence, advice)


# The key is the API's path without the version prefix.
OTHER_APIS = {
    "/responses": OtherApi(
        "This client uses the Responses API.",
        "Switch from the Responses API to Chat Completions.",
    ),
    "/messages": _provider("This client uses the Anthropic API.", "Anthropic"),
    "/completions": OtherApi(
        "This client uses the legacy Completions endpoint.",
        "Switch from the old Completions endpoint to Chat Completions.",
    ),
    "/embeddings": OtherApi("Embeddings are not available.", "Turn off embeddings."),
    "/files": OtherApi("Files are not available.", "Turn off file upload."),
    "/uploads": OtherApi("File upload is not available.", "Turn off file upload."),
    "/openai/deployments": _provider(
        "This client is set up for Azure OpenAI.", "Azure"
    ),
    "/api": _provider("This client uses the Ollama API.", "Ollama"),
    "/v1beta": _provider("This client uses the Gemini API.", "Gemini"),
}

# What to change, for any program.
ADVICE = {
    BASE_URL: f"Correct the base URL: it must end in {VERSION_PREFIX}.",
    **{path: api.advice for path, api in OTHER_APIS.items()},
    "content-type": "Send the header Content-Type: application/json once.",
    "content-encoding": "Send the body without a Content-Encoding.",
    "body.empty": "Send the fields model and messages in the body.",
    BODY_UNUSED: "Send the request without a body.",
    BODY_TOO_LARGE: f"Shorten the text to {MAX_CONTENT_BYTES} bytes in UTF-8.",
    "json": "Write the body with a JSON library.",
    "model": f"Set the model to {MODEL}.",
    "messages": "Send messages as an array of exactly one message.",
    "messages.system": "Remove the system prompt.",
    "messages.history": "Send one message, without the conversation before it.",
    "message.role": "Send the message with the role user.",
    "message.content": "Send the content as one string.",
    "message.empty": "Send a text that is not empty.",
    "message.too_large": f"Shorten the text to {MAX_CONTENT_BYTES} bytes in UTF-8.",
    "message.name": "Turn off the names of participants.",
    "stream": "Turn off streaming.",
    "stream.kind": "Send stream as the value false, or leave it unset.",
    "stream_options": "Turn off streaming.",
    "max_tokens": f"Set max_tokens to {MAX_TOKENS}, or leave it unset.",
    "max_completion_tokens": f"Leave the token limit unset, or send {MAX_TOKENS} as "
    "max_tokens.",
    "reasoning_effort": "Turn off reasoning.",
    "stop": "Remove the stop sequences.",
    "tools": "Turn off tools.",
    "tool_choice": "Turn off tools.",
    "parallel_tool_calls": "Turn off tools.",
    "functions": "Turn off function calling.",
    "function_call": "Turn off function calling.",
    "response_format": "Turn off structured output.",
    UNNAMED: "Send only the fields of the contract.",
}
# What to change about any other field.
FIELD_ADVICE = "Do not send {field}."
# People choose these when they write a request. Any other difference may be a default
# of the program or of its library.
_OWN = {
    *("content-type", "content-encoding", "body.empty", BODY_UNUSED, "json", "model"),
    *("message.empty", "message.too_large", BASE_URL),
}


def advice(difference: str) -> str:
    return ADVICE.get(difference) or FIELD_ADVICE.format(field=difference)


def may_be_default(difference: str) -> bool:
    return difference not in _OWN
