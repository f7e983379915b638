"""The head: at most 16384 bytes with its request line, and at most 100 fields.

The head ends with the empty line, and that line counts.
"""

import pytest

from tests.support.api import (
    MODELS,
    Api,
    assert_refused,
    assert_refused_and_closed,
    assert_success,
)
from tests.support.wire import Fields, request

LARGEST = 16_384


def head_of(api: Api, size: int, target: str = MODELS) -> bytes:
    """Return a request without a body that has exactly this size."""
    bare = len(request("GET", target, [*api.usual_fields, ("X-Padding", "")]))
    padding = ("X-Padding", "a" * (size - bare))
    return request("GET", target, [*api.usual_fields, padding])


def with_fields(api: Api, number: int) -> Fields:
    """Return this many fields, the two usual ones among them."""
    return [
        *api.usual_fields,
        *((f"X-{n}", "a") for n in range(number - len(api.usual_fields))),
    ]


def test_a_head_of_16384_bytes_is_read(api: Api) -> None:
    raw = head_of(api, LARGEST)
    assert len(raw) == 16384
    assert_success(api.send(raw))


def test_a_head_of_16385_bytes_is_refused(api: Api) -> None:
    answer = api.send(head_of(api, LARGEST + 1))
    assert "16384" in assert_refused(answer, "headers_too_large")


@pytest.mark.parametrize("size", [17 * 1024, 64 * 1024, 1024 * 1024])
def test_a_much_larger_head_is_refused(api: Api, size: int) -> None:
    assert_refused_and_closed(api.send(head_of(api, size)), "headers_too_large")


def test_a_head_that_never_ends_is_refused_as_soon_as_it_is_too_large(api: Api) -> None:
    unended = head_of(api, 17 * 1024).removesuffix(b"\r\n\r\n")
    assert_refused_and_closed(api.send(unended), "headers_too_large")


def test_the_size_is_counted_across_all_segments(api: Api) -> None:
    raw = head_of(api, LARGEST + 1)
    with api.endpoint.connect() as connection:
        for start in range(0, len(raw), 1000):
            connection.send(raw[start : start + 1000])
        assert_refused(connection.read_answer(), "headers_too_large")


def test_a_head_of_100_fields_is_read(api: Api) -> None:
    assert_success(api.ask("GET", MODELS, with_fields(api, 100)))


def test_a_head_of_101_fields_is_refused(api: Api) -> None:
    answer = api.ask("GET", MODELS, with_fields(api, 101))
    assert "100" in assert_refused(answer, "headers_too_large")


def test_a_head_of_5000_small_fields_is_refused(api: Api) -> None:
    answer = api.ask("GET", MODELS, with_fields(api, 5000))
    assert_refused_and_closed(answer, "headers_too_large")


def test_a_head_too_large_is_refused_before_the_path_and_the_key(api: Api) -> None:
    padding = ("X-Padding", "a" * 17_000)
    answer = api.ask("GET", "/v1/nothing", [api.host, padding])
    assert_refused(answer, "headers_too_large")
    fields = with_fields(api.with_key("none"), 101)
    assert_refused(api.ask("GET", "/v1/nothing?x", fields), "headers_too_large")


@pytest.mark.parametrize("size", [17 * 1024, 70_000, 1024 * 1024])
def test_a_target_larger_than_a_head_is_too_long(api: Api, size: int) -> None:
    answer = api.ask("GET", "/" + "a" * size)
    assert_refused_and_closed(answer, "target_too_long")


def test_a_target_of_8000_bytes_is_refused_only_as_a_wrong_path(api: Api) -> None:
    # RFC 9112 §3: a server should read request lines of at least 8000 octets.
    assert_refused(api.ask("GET", "/" + "a" * 8000), "not_found")
    assert_refused(api.ask("GET", MODELS + "?" + "a" * 8000), "not_found")
