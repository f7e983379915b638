"""Explain a 404: which mistake turned one of our two addresses into the one that was
requested.

No part of the target is quoted. The mistakes are those of real clients;
`differences.py` says how to correct them.
"""

import re
from typing import NamedTuple

from readback.contract import CHAT_PATH, MODELS_PATH, PROBE_PATH, VERSION_PREFIX
from readback.differences import BASE_URL, OTHER_APIS
from readback.keys import contains_key

# Anything after this is ignored.
_EXAMINED_BYTES = 512

_METHODS = {MODELS_PATH: "GET", CHAT_PATH: "POST"}
# Without slashes, because each of them may be missing or repeated.
_LETTERS = {path.replace("/", ""): path for path in _METHODS}
_AVAILABLE = "This API serves only " + " and ".join(
    f"{method} {path}" for path, method in _METHODS.items()
)


class NearMiss(NamedTuple):
    """A mistake that leads to a 404."""

    sentence: str
    # The path of another API, or the base URL; empty if the sentence already says what
    # to change.
    difference: str = ""


_CORS = NearMiss(
    "A web page asked, through a browser, for permission to call this API (CORS). Web "
    "pages get none, because anyone can read a key in a page; call the API from a "
    "server or a program. To test a key, use curl."
)
_KEY_IN_URL = (
    "The URL contains what looks like a key. URLs are written to logs, so revoke that "
    "key, and send a new one in the Authorization header."
)
# Other services accept a key in these URL parameters.
_KEY_PARAMETER = re.compile(
    r"[?&](?:[\w-]*[_-])?(?:api|auth)?(?:key|token)=.", re.IGNORECASE
)

_AZURE = "/openai/deployments"
# Patterns for APIs that are not just one path and everything below it.
_PATHS = {
    "/api": r"/api/(?:chat|embed|embeddings|generate|ps|pull|show|tags|version)",
    "/v1beta": r"/v1beta(?:/.*)?|.*:(?:countTokens|embedContent|\w*[gG]enerateContent)",
}
_OTHER_APIS = [
    NearMiss(f"{api.sentence} {_AVAILABLE}.", difference)
    for difference, api in OTHER_APIS.items()
]
# Each API has its own group.
_PATH_OF_OTHER_API = re.compile(
    "|".join(f"({_PATHS.get(path, f'{path}(?:/.*)?')})" for path in OTHER_APIS)
)
_VERSIONS = re.compile(rf"^(?:{VERSION_PREFIX}(?=/))+")
# Clients that are set up for Azure add this to every path.
_AZURE_PARAMETER = re.compile(r"[?&]api-version=")

PROBE = NearMiss(
    "The probe asks for this path to see whether Readback responds, and it does."
)

_ENDPOINTS = (
    *_METHODS,
    *(path.removeprefix(VERSION_PREFIX) for path in _METHODS),
)
_WHOLE_ENDPOINT = NearMiss(
    "The base URL contains a whole endpoint, and the client adds another one.", BASE_URL
)
_AFTER_WHOLE_ENDPOINT = {
    base + added for base in _ENDPOINTS for added in (*_ENDPOINTS, *OTHER_APIS)
}
_POST_TO_BASE_URL = NearMiss(
    "The request was sent to the base URL itself. If this program wants the "
    f"whole address of an endpoint, enter the one that ends in {CHAT_PATH}."
)
_BASE_URL_ALONE = NearMiss(
    "This is the address of an API for programs; it has no page. In a program, "
    f"enter it as the base URL, which must end in {VERSION_PREFIX}. {_AVAILABLE}."
)


def explain_not_found(
    method: bytes, target: bytes, *, from_browser: bool = False
) -> NearMiss:
    verb = method.decode("latin-1")
    text = target[:_EXAMINED_BYTES].decode("latin-1")
    miss = _CORS if verb == "OPTIONS" and from_browser else _explain(verb, text)
    if contains_key(target) or _KEY_PARAMETER.search(text):
        return miss._replace(sentence=f"{miss.sentence} {_KEY_IN_URL}")
    return miss


def _explain(verb: str, target: str) -> NearMiss:
    path, question_mark, _ = target.partition("?")
    if path == PROBE_PATH:
        return PROBE
    if path in _METHODS:
        if _AZURE_PARAMETER.search(target):
            return NearMiss(
                f"{OTHER_APIS[_AZURE].sentence} {path} takes no URL parameters.",
                _AZURE,
            )
        if question_mark:
            return NearMiss(
                f"{path} takes no URL parameters; remove the question mark and "
                "everything after it."
            )
        return NearMiss(f"{path} only accepts {_METHODS[path]}.")
    if path in ("/", VERSION_PREFIX, VERSION_PREFIX + "/"):
        return _BASE_URL_ALONE if verb != "POST" else _POST_TO_BASE_URL
    if path in _AFTER_WHOLE_ENDPOINT:
        return _WHOLE_ENDPOINT
    if miss := _wrong_form(path):
        return miss
    # If the base URL has a version, clients of other APIs add theirs after it.
    other = _PATH_OF_OTHER_API.fullmatch(_VERSIONS.sub("", path, count=1))
    if other and other.lastindex:
        return _OTHER_APIS[other.lastindex - 1]
    return NearMiss(f"Nothing is served at this path. {_AVAILABLE}.")


def _wrong_form(path: str) -> NearMiss | None:
    """Return the mistake if this is one of our paths with different slashes, case or
    version.

    The base URL is then wrong, unless there is only an extra slash at the end.
    """
    letters = VERSION_PREFIX + path.lower().replace("/", "")
    for right_letters, right in _LETTERS.items():
        if letters.endswith(right_letters):
            difference = BASE_URL if path.rstrip("/") != right else ""
            alone = ", with nothing before it" if path.endswith(right) else ""
            return NearMiss(f"The path must be exactly {right}{alone}.", difference)
    return None
