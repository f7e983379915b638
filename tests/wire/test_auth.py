"""Exactly one Authorization field with the Bearer scheme (RFC 9110 §11.1, §11.4)."""

import pytest

from tests.support.api import (
    MODELS,
    Api,
    assert_refused,
    assert_success,
    draft,
)
from tests.support.raw_requests import ask, statuses
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import request

KEY = "KEY"
ACCEPTED = [
    *["Bearer KEY", "bearer KEY", "BEARER KEY", "bEaReR KEY"],
    *["Bearer  KEY", "Bearer    KEY", "Bearer KEY ", "Bearer KEY \t ", "\t Bearer KEY"],
]
REFUSED = [
    *["", "KEY", "Bearer", "Bearer ", "BearerKEY", "Bearer:KEY", "Bearer=KEY"],
    *["Basic KEY", "Token KEY", "Digest KEY", "Bearer KEY x", "Bearer KEY,KEY"],
    *["Bearer KEY, Bearer KEY", "Bearer, KEY", "Bearer\tKEY", "Bearer KEY;x"],
    *['Bearer "KEY"', "Bearer 'KEY'", "Bearer <KEY>", "Bearer {KEY}", "Bearer =KEY"],
    *["Bearer KEY=", "Bearer KEY==", "Bearer xKEY", "Bearer KEYx", "Bearer Bearer KEY"],
    *["Bearer \xff", "Bearer KEY\xff", "\xffBearer KEY", "Bearer\xa0KEY", "Bearer %4b"],
    "Bearer " + "x" * 8000,
]


@pytest.mark.parametrize("value", ACCEPTED, ids=repr)
def test_the_scheme_is_case_insensitive_and_may_have_white_space_around(
    api: Api, value: str
) -> None:
    field = ("Authorization", value.replace(KEY, api.key))
    assert_success(api.ask("GET", MODELS, [api.host, field]))


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value[:30]))
def test_anything_else_is_refused_and_the_connection_stays_open(
    api: Api, value: str
) -> None:
    field = ("Authorization", value.replace(KEY, api.key))
    raw = request("GET", MODELS, [api.host, field])
    good = request("GET", MODELS, api.usual_fields)
    answers = ask(api.endpoint, raw + good)
    assert statuses(answers) == [401, 200]
    assert_refused(answers[0], "invalid_key")


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "aUTHORIZATION"])
def test_the_field_name_is_case_insensitive(api: Api, name: str) -> None:
    assert_success(api.ask("GET", MODELS, [api.host, (name, api.bearer[1])]))


def test_two_authorization_fields_are_refused_whichever_is_right(api: Api) -> None:
    good, bad = api.bearer, ("Authorization", "Bearer x")
    for pair in ([good, bad], [bad, good], [good, good], [good, ("authorization", "")]):
        answer = api.ask("GET", MODELS, [api.host, *pair])
        assert_refused(answer, "invalid_key")


@pytest.mark.parametrize(
    "name",
    ["Proxy-Authorization", "X-Authorization", "X-Api-Key", "Api-Key", "Cookie"]
    + ["Authorization-", "Authorisation", "X_Authorization"],
)
def test_no_other_field_carries_a_key(api: Api, name: str) -> None:
    answer = api.ask("GET", MODELS, [api.host, (name, api.bearer[1])])
    assert_refused(answer, "invalid_key")


def test_a_key_is_not_remembered_for_the_connection(api: Api) -> None:
    without_key = request("GET", MODELS, [api.host])
    with api.endpoint.connect() as connection:
        for _ in range(3):
            connection.send(api.chat_bytes(draft("x")))
            assert_success(connection.read_answer())
            connection.send(without_key)
            assert_refused(connection.read_answer(), "invalid_key")


def test_a_key_in_the_name_of_a_program_is_not_stored(server: Server, api: Api) -> None:
    program = ("User-Agent", f"careless/1 {api.key}")
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, program]))

    def stored() -> bytes:
        folder = server.folder / "data"
        return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())

    wait_until(lambda: b"careless/1 [key]" in stored(), "the request is in the journal")
    assert api.key.encode() not in stored()


def test_a_token_of_one_megabyte_is_refused_as_a_head_too_large(api: Api) -> None:
    field = ("Authorization", "Bearer " + "x" * 1_000_000)
    answer = api.ask("GET", MODELS, [api.host, field])
    assert_refused(answer, "headers_too_large")
