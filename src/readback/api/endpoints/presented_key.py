"""Explain a 401: how the key was sent, and what to change.

Nothing is looked up, and no part of the credentials is quoted.
"""

import re

from readback import keys
from readback.http.head import Head

_SEND_KEY = "Send the header 'Authorization: Bearer <key>' with a key from the cabinet."
_BASIC = (
    "The Authorization header uses Basic, as for a .netrc file, a login in the URL or "
    f"a proxy. {_SEND_KEY}"
)
_NOT_BEARER = (
    "The Authorization header does not consist of Bearer, a space and a key. "
    f"{_SEND_KEY}"
)
_TWO_SCHEMES = "Bearer appears twice: the program adds it, so enter only the key."
_NO_KEY = (
    "No key was sent: the setting or variable that should contain it is empty. Put a "
    "key from the cabinet there."
)
_NAME_OF_VARIABLE = (
    "The name of a variable was sent instead of its value. In a shell, put the header "
    "in double quotes, not in single ones."
)
_IS_PLACEHOLDER = "This is a placeholder. Put a key from the cabinet in its place."
_WITH_SPACE = (
    "The key contains a space, a line break or an invisible character; copy it again "
    "in one piece."
)
_IN_QUOTES = "The key is in quotation marks or brackets; remove them."
_PREFIX = keys.PREFIX.encode()
# Other services or programs expect a key in these fields.
_OTHER_FIELDS = frozenset(
    b"proxy-authorization api-key x-api-key x-goog-api-key x-auth-token".split()
)

# How the keys of other services begin.
_OTHER_SERVICES = {
    b"sk-ant-": "Anthropic",
    b"sk-or-": "OpenRouter",
    b"sk-proj-": "OpenAI",
    b"sk-svcacct-": "OpenAI",
    b"sk-admin-": "OpenAI",
    b"AIza": "Google",
    b"gsk_": "Groq",
    b"hf_": "Hugging Face",
    b"xai-": "xAI",
    b"sk-": "another service",
}
_OTHER_SERVICE = re.compile(b"|".join(_OTHER_SERVICES))
# A shorter word is a placeholder or a typo.
_MIN_KEY_LENGTH = 20
# Anything after this is ignored.
_EXAMINED_BYTES = 256

# In ASCII, UTF-8 and Windows-1252.
_QUOTES = b"\"'`\\" + "‘’‚‛“”„‟«»".encode() + b"\x91\x92\x93\x94"
_BRACKETS = b"<>[](){}"
_SEPARATORS = _BRACKETS + b"-_. *:"
_UNSET = frozenset(b"none null nil undefined false nan empty objectobject".split())
_PLACEHOLDER = re.compile(
    rb"(?:sk|skecho)?(?:x*|changeme|dummy(?:key)?|fake|notneeded|placeholder|test"
    rb"|(?:add|enter|insert|my|paste|put|the|your)?(?:openai|readback|real|secret)?"
    rb"(?:api)?(?:key|token)(?:here|goeshere)?)"
)
_VARIABLE = re.compile(rb"\$[\w({]|%\w+%|\{\{|process\.env|environ")
# White space, an escaped line break or tab, and invisible spaces.
_SPACE = re.compile(rb"\s|\\[nrt]|\xa0|\xe2\x80[\x80-\x8f\xa8-\xaf]|\xef\xbb\xbf")


def explain_no_key(head: Head) -> str:
    values = head.all(b"authorization")
    if len(values) == 1:
        return _explain(values[0])
    if values:
        return "The Authorization header appears more than once; send it once."
    return f"The Authorization header is missing. {_elsewhere(head)}"


def explain_invalid(key: bytes) -> str:
    """Return why the word after Bearer cannot be a key; empty if it can be one."""
    why = keys.why_invalid(key)
    if why is None:
        return ""
    # A key that looks right has a typo or is made up; there is nothing to add.
    looks_right = len(key) == keys.LENGTH and key.startswith(_PREFIX)
    mistake = "" if looks_right else _name_mistake(key[:_EXAMINED_BYTES])
    return mistake or f"This is not a valid key: {why}."


def _explain(value: bytes) -> str:
    # RFC 9110 §11.1: the scheme is case-insensitive.
    scheme, _, rest = value.partition(b" ")
    if scheme.lower() == b"bearer":
        return explain_invalid(rest.strip(b" "))
    if scheme.lower() == b"basic":
        return _BASIC
    # A single word may be a key, or something that was sent in its place.
    word = value[:_EXAMINED_BYTES]
    mistake = _name_mistake(word) if len(word.split()) < 2 else ""
    return mistake or _NOT_BEARER


def _name_mistake(key: bytes) -> str:
    """Describe the mistake in a key; return "" if it may be just a typo."""
    unquoted = key.strip(_QUOTES)
    bare = unquoted.strip(_BRACKETS)
    word = bare.translate(None, _SEPARATORS).lower()
    is_ours = bare.startswith(_PREFIX)
    is_placeholder = _PLACEHOLDER.fullmatch(word) or (bare != unquoted and not is_ours)
    # Ordered so that the first match is the most specific.
    mistakes = (
        (bare[:7].lower() == b"bearer ", _TWO_SCHEMES),
        (not unquoted or word in _UNSET, _NO_KEY),
        (_VARIABLE.search(unquoted), _NAME_OF_VARIABLE),
        (is_placeholder, _IS_PLACEHOLDER),
        (_SPACE.search(key), _WITH_SPACE),
        (bare != key, _IN_QUOTES),
    )
    sentences = (sentence for holds, sentence in mistakes if holds)
    return _explain_other_service(bare) or next(sentences, "")


def _explain_other_service(key: bytes) -> str:
    """Return a warning if this is another service's key, otherwise an empty string."""
    found = _OTHER_SERVICE.match(key)
    if not found or len(key) < _MIN_KEY_LENGTH or key.startswith(_PREFIX):
        return ""
    return (
        f"This looks like a key of {_OTHER_SERVICES[found[0]]}: never send it here. "
        f"Use a key from the cabinet, which begins with {keys.PREFIX}."
    )


def _elsewhere(head: Head) -> str:
    """Return advice if Authorization is missing; another header may contain a key."""
    for name, values in head.fields.items():
        if name in _OTHER_FIELDS:
            not_read = f"The key in {name.decode().title()} is not read."
            return f"{not_read} {_explain_other_service(values[0]) or _SEND_KEY}"
    return _SEND_KEY
