"""The sentence of a 401 says how the key was presented, and what to change."""

import pytest
from tests.support.tables import each
from tests.support.work import head_of

from readback import keys
from readback.api.endpoints.presented_key import explain_invalid
from readback.api.endpoints.request_info import describe

KEY = keys.mint()
SEND_KEY = "Send the header 'Authorization: Bearer <key>' with a key from the cabinet."
Fields = list[tuple[bytes, bytes]]


def detail_for(fields: Fields) -> str:
    """Return the detail of the 401 for these header fields."""
    head = head_of(b"GET", b"/v1/models", fields)
    return describe(head).no_key_detail or explain_invalid(head.key)


def detail_of(value: str | bytes) -> str:
    raw = value if isinstance(value, bytes) else value.encode()
    return detail_for([(b"authorization", raw.strip(b" \t"))])


# How the sentences begin.
NO_KEY = "No key was sent: the setting or variable that should contain it is empty."
VARIABLE = "The name of a variable was sent instead of its value."
PLACEHOLDER = "This is a placeholder. Put a key from the cabinet in its place."
ENCLOSED = "The key is in quotation marks or brackets; remove them."
SPACE = "The key contains a space, a line break or an invisible character; copy it"
TWICE = "Bearer appears twice: the program adds it, so enter only the key."
OPENAI = "This looks like a key of OpenAI: never send it here."
OTHER_KEY = "This looks like a key of another service: never send it here."
ANTHROPIC = "This looks like a key of Anthropic: never send it here."
NOT_BEARER = "The Authorization header does not consist of Bearer, a space and a key."

MISTAKES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", NO_KEY),
    "the scheme alone": ("Bearer", NO_KEY),
    "None": ("Bearer None", NO_KEY),
    "undefined without a scheme": ("undefined", NO_KEY),
    "an object of JavaScript": ("Bearer [object Object]", NO_KEY),
    "basic": ("Basic YWxpY2U6c2VjcmV0", "The Authorization header uses Basic"),
    "a token": (f"Token {KEY}", NOT_BEARER),
    "digest": ('Digest username="alice"', NOT_BEARER),
    "a bare key": (KEY, NOT_BEARER),
    "no space": (f"Bearer{KEY}", NOT_BEARER),
    "a tab": (f"Bearer\t{KEY}", NOT_BEARER),
    "the scheme twice": (f"Bearer Bearer {KEY}", TWICE),
    "double quotes": (f'Bearer "{KEY}"', ENCLOSED),
    "one quote": (f"Bearer {KEY}'", ENCLOSED),
    "escaped quotes": (f'Bearer \\"{KEY}\\"', ENCLOSED),
    "typographic quotes": (f"Bearer “{KEY}”", ENCLOSED),
    "quotes of Windows": (b"Bearer \x93" + KEY.encode() + b"\x94", ENCLOSED),
    "angle brackets": (f"Bearer <{KEY}>", ENCLOSED),
    "a variable of a shell": ("Bearer $OPENAI_API_KEY", VARIABLE),
    "a variable of PowerShell": ("Bearer $env:OPENAI_API_KEY", VARIABLE),
    "a command": ("Bearer $(cat key)", VARIABLE),
    "a variable of Windows": ("Bearer %OPENAI_API_KEY%", VARIABLE),
    "a template": ("Bearer {{ api_key }}", VARIABLE),
    "a variable in quotes": ("Bearer '$OPENAI_API_KEY'", VARIABLE),
    "a variable without a scheme": ("$OPENAI_API_KEY", VARIABLE),
    "the name of a variable": ("Bearer OPENAI_API_KEY", PLACEHOLDER),
    "<key>": ("Bearer <key>", PLACEHOLDER),
    "a sentence": ("Bearer <the key from Alice>", PLACEHOLDER),
    "your-api-key": ("Bearer your-api-key", PLACEHOLDER),
    "[your key]": ("Bearer [your key]", PLACEHOLDER),
    "dummy": ("Bearer dummy", PLACEHOLDER),
    "the dummy of llm": ("Bearer DUMMY_KEY", PLACEHOLDER),
    "crosses": ("Bearer sk-echo-xxxxxxxx", PLACEHOLDER),
    "our prefix alone": ("Bearer sk-echo-", PLACEHOLDER),
    "OpenAI": ("Bearer sk-proj-0123456789abcdefghijklmnop", OPENAI),
    "Anthropic": ("Bearer sk-ant-api03-0123456789abcdef", ANTHROPIC),
    "in quotes": ("Bearer 'sk-proj-0123456789abcdef'", OPENAI),
    "OpenAI without a scheme": ("sk-proj-0123456789abcdef", OPENAI),
    "an older key": ("Bearer sk-" + "0a" * 24, OTHER_KEY),
    "a space inside": (f"Bearer {KEY[:20]} {KEY[20:]}", SPACE),
    "a tab inside": (f"Bearer {KEY[:20]}\t{KEY[20:]}", SPACE),
    "an escaped line break": (f"Bearer {KEY}\\n", SPACE),
    "a no-break space": (f"Bearer {KEY}\u00a0", SPACE),
    "a zero-width space": (f"Bearer \u200b{KEY}", SPACE),
    "another word": ("Bearer letmein", "This is not a valid key: a key begins with"),
    "cut off": (
        f"Bearer {KEY[:-1]}",
        "This is not a valid key: a key has 46 characters, and this one has 45.",
    ),
}


@each("value, expected", MISTAKES)
def test_the_mistake_is_named(value: str | bytes, expected: str) -> None:
    assert detail_of(value).startswith(expected)


@pytest.mark.parametrize(
    "name", ["X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Proxy-Authorization"]
)
def test_a_key_in_another_header_is_named(name: str) -> None:
    advice = f"The key in {name} is not read. {SEND_KEY}"
    other = (name.lower().encode(), KEY.encode())
    assert detail_for([other]) == f"The Authorization header is missing. {advice}"
    # If there is an Authorization header, that is the one to correct.
    for key, detail in ((b"dummy", PLACEHOLDER), (KEY.encode(), "")):
        read = (b"authorization", b"Bearer " + key)
        for fields in ([other, read], [read, other]):
            assert detail_for(fields) == detail


def test_a_key_of_another_service_in_its_own_header_is_named() -> None:
    assert detail_for([(b"x-api-key", b"sk-ant-api03-0123456789abcdef")]) == (
        "The Authorization header is missing. The key in X-Api-Key is not read. "
        f"{ANTHROPIC} Use a key from the cabinet, which begins with sk-echo-."
    )


def test_a_repeated_header_is_named() -> None:
    field = (b"authorization", b"Bearer x")
    assert "appears more than once; send it once." in detail_for([field, field])
