"""What a 404 says: which slip leads from our two addresses to the one that came.

Pure: a method and a target in, one sentence out, in which nothing of the target is
repeated. The slips are those that real clients make.
"""

from readback.contract import CHAT_PATH, MODELS_PATH, VERSION_PREFIX

_TASKS = {MODELS_PATH: "GET", CHAT_PATH: "POST"}
_TAILS = tuple(path.removeprefix(VERSION_PREFIX) for path in _TASKS)
_SERVED = " and ".join(f"{method} {path}" for path, method in _TASKS.items())

# Endpoints of other APIs, by what a client that asks for them speaks.
_OTHER_ENDPOINTS = {
    "/responses": "This client speaks the Responses API; choose Chat Completions.",
    "/messages": "This client speaks the Anthropic API; choose an OpenAI-compatible "
    "one with Chat Completions.",
    "/completions": "This client asks for the legacy Completions endpoint; choose "
    "Chat Completions.",
    "/embeddings": "Embeddings are not offered; the one endpoint is Chat Completions.",
    "/files": "Files are not offered.",
    "/uploads": "File upload is not offered.",
}


def name_the_slip(method: bytes, target: bytes) -> str:
    """Say in one sentence what is wrong with a method and a target."""
    path, question, _ = target.decode("latin-1").partition("?")
    verb = method.decode("latin-1")
    if question and path in _TASKS:
        return f"{path} takes no URL parameters, and not a question mark either."
    if path in _TASKS:
        return f"{path} is served for {_TASKS[path]} alone."
    return (
        _wrong_prefix(path) or _wrong_form(path) or _other(path, verb) or _elsewhere()
    )


def _wrong_prefix(path: str) -> str:
    for tail in _TAILS:
        if path in (tail, tail + "/"):
            return (
                f"Is {VERSION_PREFIX} missing at the end of the base address? "
                f"The path is {VERSION_PREFIX}{tail}."
            )
        if path == f"{VERSION_PREFIX}{VERSION_PREFIX}{tail}":
            return (
                f"Is {VERSION_PREFIX} twice in the base address? "
                f"The path is {VERSION_PREFIX}{tail}."
            )
        if path == f"{VERSION_PREFIX}{tail[1:]}":
            return (
                f"Is a slash missing after {VERSION_PREFIX} in the base address? "
                f"The path is {VERSION_PREFIX}{tail}."
            )
        if path.endswith(VERSION_PREFIX + tail) and "//" not in path:
            return (
                f"Something stands before {VERSION_PREFIX} in the path. "
                f"The path is {VERSION_PREFIX}{tail}."
            )
    return ""


def _wrong_form(path: str) -> str:
    for right in _TASKS:
        if path.rstrip("/") == right:
            return f"There is a slash too many at the end. The path is {right}."
        if _without_empty_parts(path) == right:
            return f"There is a slash too many inside. The path is {right}."
        if path.lower() == right:
            return f"Capital letters matter. The path is {right}."
    return ""


def _without_empty_parts(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


def _other(path: str, verb: str) -> str:
    tail = path.removeprefix(VERSION_PREFIX)
    if path.startswith(MODELS_PATH + "/"):
        return f"Single models are not served; the list is GET {MODELS_PATH}."
    for start, sentence in _OTHER_ENDPOINTS.items():
        if tail == start or tail.startswith(start + "/"):
            return f"{sentence} Served are {_SERVED}."
    if verb == "OPTIONS":
        return f"OPTIONS is not served, and so no CORS. Served are {_SERVED}."
    return ""


def _elsewhere() -> str:
    return f"Nothing is served at this path. Served are {_SERVED}."
