"""Exactly one `Authorization: Bearer <key>` is accepted; everything else gets a 401.

The refusal's body is the same whatever is wrong with the key; only the sentence in
X-Error-Detail points out a typo. No test here depends on a rate limit.
"""

import base64

import pytest

from tests.conformance.conftest import UNKNOWN_SECRET
from tests.support.api import (
    MODELS,
    Api,
    assert_refused,
    assert_success,
    draft,
    key_with_checksum,
)
from tests.support.tables import each
from tests.support.wire import Answer

UNKNOWN_KEY = key_with_checksum(UNKNOWN_SECRET)

# {key} is the accepted key. The sentences for common mistakes are in tests/unit.
NOT_ACCEPTED = {
    "an empty value": "",
    "a bare key": "{key}",
    "the scheme alone": "Bearer",
    "no space": "Bearer{key}",
    "a tab for the space": "Bearer\t{key}",
    "a colon": "Bearer: {key}",
    "the scheme twice": "Bearer Bearer {key}",
    "another scheme": "Token {key}",
    "a longer scheme": "Bearers {key}",
    "quotes": 'Bearer "{key}"',
    "something after the key": "Bearer {key} x",
    "two credentials in one line": "Bearer {key}, Bearer {key}",
    "a semicolon after the key": "Bearer {key};",
    "padding after the key": "Bearer {key}==",
    "the right form, never issued": f"Bearer {UNKNOWN_KEY}",
    "long": "Bearer sk-echo-" + "a" * 8000,
    "very long after the key": "Bearer {key}" + "a" * 8000,
    "0xff inside": b"Bearer sk-echo-\xff\xfe",
    "0xff for the scheme": b"\xff\xff sk-echo-",
    "cyrillic in UTF-8": "Bearer sk-echo-ключ".encode(),
}

ACCEPTED = {
    "as written in the contract": "Bearer {key}",
    "in small letters": "bearer {key}",
    "in mixed letters": "bEaReR {key}",
    "several spaces": "Bearer    {key}",
    "white space after it": "Bearer {key} \t \t",
    "white space before it": " \t Bearer {key}",
}


def ask_with(api: Api, *values: str | bytes) -> Answer:
    fields = [api.host, *(("Authorization", value) for value in values)]
    return api.ask("GET", MODELS, fields)


def test_a_request_without_a_key_is_refused(api: Api) -> None:
    assert_refused(ask_with(api), "invalid_key")


@each("value", NOT_ACCEPTED)
def test_an_invalid_authorization_is_refused(api: Api, value: str | bytes) -> None:
    sent = value if isinstance(value, bytes) else value.format(key=api.key)
    answer = ask_with(api, sent)
    assert_refused(answer, "invalid_key")
    assert answer.header("WWW-Authenticate") == "Bearer"


@each("value", ACCEPTED)
def test_the_scheme_may_be_written_in_any_case_and_with_spaces(
    api: Api, value: str
) -> None:
    assert_success(ask_with(api, value.format(key=api.key)))


def damaged_keys(key: str) -> dict[str, str]:
    other = "b" if key[20] == "a" else "a"
    return {
        "the last character is missing": key[:-1],
        "the first character is missing": key[1:],
        "one character differs": key[:20] + other + key[21:],
        "the case is swapped": key.swapcase(),
        "the prefix differs": key.replace("sk-echo-", "sk-test-"),
    }


@pytest.mark.parametrize("damage", damaged_keys(UNKNOWN_KEY))
def test_a_damaged_key_is_refused(api: Api, damage: str) -> None:
    damaged = damaged_keys(api.key)[damage]
    assert_refused(ask_with(api, f"Bearer {damaged}"), "invalid_key")


def test_the_sentence_distinguishes_a_typing_error_from_an_unknown_key(
    api: Api,
) -> None:
    wrong = assert_refused(ask_with(api, f"Bearer {UNKNOWN_KEY}"), "invalid_key")
    damaged = damaged_keys(api.key)
    for damage in ("the last character is missing", "one character differs"):
        answer = ask_with(api, f"Bearer {damaged[damage]}")
        assert assert_refused(answer, "invalid_key") != wrong


def test_an_accepted_key_has_the_documented_form(api: Api) -> None:
    # Proves that "the right form, never issued" is refused because it is unknown.
    assert key_with_checksum(api.key[8:40]) == api.key


@pytest.mark.parametrize("ended", ["revoked_key", "expired_key"])
def test_a_revoked_or_expired_key_is_refused(
    api: Api, ended: str, request: pytest.FixtureRequest
) -> None:
    mallory = api.with_key(request.getfixturevalue(ended))
    for answer in (mallory.models(), mallory.chat(draft())):
        assert_refused(answer, "invalid_key")


def test_two_authorization_fields_are_refused_whatever_their_values(api: Api) -> None:
    good, bad = f"Bearer {api.key}", f"Bearer {UNKNOWN_KEY}"
    for values in ((good, good), (good, bad), (bad, good), ("", good), (good, "")):
        assert_refused(ask_with(api, *values), "invalid_key")


@pytest.mark.parametrize(
    "name", ["X-Api-Key", "Api-Key", "X-Authorization", "Proxy-Authorization", "Cookie"]
)
def test_a_key_in_another_field_is_ignored(api: Api, name: str) -> None:
    for value in (api.key, f"Bearer {api.key}"):
        answer = api.ask("GET", MODELS, [api.host, (name, value)])
        assert_refused(answer, "invalid_key")


def test_a_key_in_basic_authentication_is_ignored(api: Api) -> None:
    for pair in (f"{api.key}:", f":{api.key}", f"Bearer:{api.key}"):
        encoded = base64.b64encode(pair.encode()).decode()
        assert_refused(ask_with(api, f"Basic {encoded}"), "invalid_key")


def test_a_key_in_the_url_is_ignored_and_must_be_revoked(api: Api) -> None:
    # assert_refused also checks that the head of the answer contains no key.
    targets = [f"{MODELS}?{name}=" for name in ("api_key", "key", "access_token")]
    own = [target + api.key for target in [*targets, "/", "/v1/", "/models?key="]]
    names = ("access_token", "limit=1&apikey", "API-KEY", "token")
    others = [f"{MODELS}?{name}=abc" for name in names]
    google = f"{MODELS}?key=AIzaSy0123456789abcdefghijABCDEFGHIJ012"
    for target in [*own, *others, google, f"/v1/{api.key}/chat/completions"]:
        detail = assert_refused(api.ask("GET", target, [api.host]), "not_found")
        assert (
            "The URL contains what looks like a key. URLs are written to logs, so "
            "revoke that key, and send a new one in the Authorization header."
        ) in detail
