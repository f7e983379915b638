"""The name of the program behind an endpoint, if its responses give it away.

Only what a program says of itself counts: a header or a text of its own. A form that
several programs share names none of them.
"""

from __future__ import annotations

from http import HTTPStatus

from readback.probe.common.results import ProbeError
from readback.probe.service.api_answers import parse_json
from readback.probe.transport.client import ProbeClient, ProbeResponse

# The beginning of a header's name, in lower case. A gateway passes on the headers of
# the provider behind it, so gateways come first.
_BY_HEADER = (
    ("x-litellm-", "LiteLLM"),
    ("apim-request-id", "Azure API Management"),
    ("openai-version", "OpenAI"),
)
_BY_SERVER = {"llama.cpp": "llama.cpp"}
_BY_OWNER = {"vllm": "vLLM", "llamacpp": "llama.cpp", "sglang": "SGLang"}
_OLLAMA = b"Ollama is running"


def name(response: ProbeResponse) -> str:
    """Return the name of the program that sent the response, or ""."""
    headers = [header.lower() for header in response.headers]
    for start, program in _BY_HEADER:
        if any(header.startswith(start) for header in headers):
            return program
    server = response.headers.get("Server", "").strip().lower()
    return _BY_SERVER.get(server) or _owner(response) or _google(response)


def name_at_root(client: ProbeClient) -> str:
    """Ask for the root of the host, where Ollama says its name."""
    try:
        response = client.request("GET", "/")
    except ProbeError:
        return ""
    is_ollama = response.status == HTTPStatus.OK and response.body.strip() == _OLLAMA
    return "Ollama" if is_ollama else ""


def is_anthropic(response: ProbeResponse) -> bool:
    """Return whether the error has the form of Anthropic's own API."""
    content = parse_json(response.body)
    is_error = isinstance(content, dict) and content.get("type") == "error"
    error = content.get("error") if is_error else None
    return isinstance(error, dict) and {"type", "message"} <= set(error)


def _owner(response: ProbeResponse) -> str:
    """Return the program that all models of a list name as their owner, or ""."""
    content = parse_json(response.body)
    rows = content.get("data") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return ""
    owners = {str(row.get("owned_by")).lower() for row in rows}
    return _BY_OWNER.get(owners.pop(), "") if len(owners) == 1 else ""


def _google(response: ProbeResponse) -> str:
    """Recognize the error form of Google's APIs, which has a status in capitals."""
    content = parse_json(response.body)
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict) or error.get("code") != response.status:
        return ""
    status = error.get("status")
    is_word = isinstance(status, str) and status.isupper() and status.isascii()
    return "a Google API" if is_word else ""
