"""What a 404 explains: which mistake leads from our two addresses to the one received.

Pure: a method and a target in, an explanation out, which quotes nothing of the target.
The mistakes are those that real clients make.
"""

from readback.contract import CHAT_PATH, MODELS_PATH, VERSION_PREFIX

_METHODS = {MODELS_PATH: "GET", CHAT_PATH: "POST"}
_TAILS = tuple(path.removeprefix(VERSION_PREFIX) for path in _METHODS)
_AVAILABLE = "This API serves only " + " and ".join(
    f"{method} {path}" for path, method in _METHODS.items()
)

# Endpoints of other APIs, and what to change in a client that uses them.
_OTHER_ENDPOINTS = {
    "/responses": "This client uses the Responses API; switch it to Chat Completions.",
    "/messages": "This client uses the Anthropic API; choose an OpenAI-compatible "
    "provider with Chat Completions.",
    "/completions": "This client uses the legacy Completions endpoint; switch it to "
    "Chat Completions.",
    "/embeddings": "Embeddings are not available.",
    "/files": "Files are not available.",
    "/uploads": "File upload is not available.",
}


def explain_not_found(method: bytes, target: bytes) -> str:
    """Return what is wrong with a method and a target that are not served."""
    path, question_mark, _ = target.decode("latin-1").partition("?")
    verb = method.decode("latin-1")
    if question_mark and path in _METHODS:
        return (
            f"{path} takes no URL parameters; remove the question mark and everything "
            "after it."
        )
    if path in _METHODS:
        return f"{path} only accepts {_METHODS[path]}."
    return (
        _wrong_prefix(path)
        or _wrong_form(path)
        or _other_endpoint(path, verb)
        or f"Nothing is served at this path. {_AVAILABLE}."
    )


def _wrong_prefix(path: str) -> str:
    for tail in _TAILS:
        right = f"The path is {VERSION_PREFIX}{tail}."
        if path in (tail, tail + "/"):
            return f"{VERSION_PREFIX} is missing at the end of the base URL. {right}"
        if path == f"{VERSION_PREFIX}{VERSION_PREFIX}{tail}":
            return f"{VERSION_PREFIX} appears twice in the base URL. {right}"
        if path == f"{VERSION_PREFIX}{tail[1:]}":
            return f"A slash is missing after {VERSION_PREFIX} in the base URL. {right}"
        if path.endswith(VERSION_PREFIX + tail) and "//" not in path:
            return f"The path has something before {VERSION_PREFIX}. {right}"
    return ""


def _wrong_form(path: str) -> str:
    for right in _METHODS:
        if path.rstrip("/") == right:
            return f"The path has an extra slash at the end. The path is {right}."
        if _without_empty_segments(path) == right:
            return f"The path has an extra slash inside. The path is {right}."
        if path.lower() == right:
            return f"The path is case-sensitive. The path is {right}."
    return ""


def _without_empty_segments(path: str) -> str:
    return "/" + "/".join(segment for segment in path.split("/") if segment)


def _other_endpoint(path: str, verb: str) -> str:
    tail = path.removeprefix(VERSION_PREFIX)
    if path.startswith(MODELS_PATH + "/"):
        return f"A single model is not available; the list is GET {MODELS_PATH}."
    for start, advice in _OTHER_ENDPOINTS.items():
        if tail == start or tail.startswith(start + "/"):
            return f"{advice} {_AVAILABLE}."
    if verb == "OPTIONS":
        return f"OPTIONS is not available, so browsers cannot use CORS. {_AVAILABLE}."
    return ""
