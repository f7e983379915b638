"""The body must be declared as application/json once, without Content-Encoding."""

import pytest

from tests.support.api import CHAT, Api, assert_echo, assert_refused, compact, draft
from tests.support.tables import each
from tests.support.wire import Answer

ACCEPTED = [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json ; charset=utf-8",
    'application/json; charset="utf-8"',
    # As documented, parameters have no effect.
    "application/json; charset=utf-16",
    "application/json ",
]

NOT_ACCEPTED = [
    "application/x-www-form-urlencoded",
    "text/plain",
    "application/jsonp",
    "application/problem+json",
    "xapplication/json",
    "application/ json",
    "application/json, application/json",
    "*/*",
    "; charset=utf-8",
    '"application/json"',
    "",
    *[b"application/json\xff", b"\xff", b"\xd0\xb4/json"],
]


def post(api: Api, *fields: tuple[str, str | bytes]) -> Answer:
    return api.ask("POST", CHAT, [*api.usual_fields, *fields], compact(draft()))


@pytest.mark.parametrize("media", ACCEPTED)
def test_json_is_accepted_with_parameters_and_in_any_case(api: Api, media: str) -> None:
    assert_echo(post(api, ("Content-Type", media)), "zyzzyva-47")


@pytest.mark.parametrize("media", NOT_ACCEPTED)
def test_any_other_type_is_refused(api: Api, media: str | bytes) -> None:
    answer = post(api, ("Content-Type", media))
    assert_refused(answer, "unsupported_media_type")


@each(
    "types",
    {
        "both right": ("application/json", "application/json"),
        "the second wrong": ("application/json", "text/plain"),
        "the first wrong": ("text/plain", "application/json"),
        "the second empty": ("application/json", ""),
    },
)
def test_two_types_are_refused(api: Api, types: tuple[str, str]) -> None:
    answer = post(api, *(("Content-Type", media) for media in types))
    detail = assert_refused(answer, "unsupported_media_type")
    assert "Send the header Content-Type: application/json once." in detail


@pytest.mark.parametrize("coding", ["gzip", "identity", "br", "deflate", "zstd", "x"])
def test_a_content_encoding_is_refused(api: Api, coding: str) -> None:
    fields = [("Content-Type", "application/json"), ("Content-Encoding", coding)]
    detail = assert_refused(post(api, *fields), "unsupported_media_type")
    assert "Send the body without a Content-Encoding." in detail
