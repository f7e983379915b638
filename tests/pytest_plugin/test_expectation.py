"""`expect` compares every argument, and refuses one that it could not compare."""

import pytest

from readback.pytest_plugin.server import (
    ArrivedRequest,
    Expectation,
    Marker,
    ReadbackServer,
    difference_ids,
)

ADDRESS = "http://127.0.0.1:9/v1"


def expect(**arguments):
    """Call `expect` of a server that is not there: a usage error needs none."""
    server = ReadbackServer(ADDRESS, "key", ADDRESS, None, Marker("key"))
    return server.expect(**arguments)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({"accepted": 1, "differences": "temperature"}, "differences needs refused"),
        ({"accepted": 1, "differences": ["stream"]}, "differences needs refused"),
        ({"unknown_field": 0, "differences": "stream"}, "differences needs refused"),
        ({"differences": "stream"}, "differences needs refused"),
        ({"program": "curl"}, "program needs requests"),
        ({"accepted": 0, "program": "curl"}, "program needs requests"),
        ({"accepted": -1}, "accepted must not be negative"),
    ],
)
def test_an_argument_that_nothing_is_compared_with_is_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        expect(**arguments)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({"accepted": True}, "accepted must be a number of requests; got True"),
        ({"accepted": "1"}, "accepted must be a number"),
        ({"accepted": 1.0}, "accepted must be a number"),
        ({"accepted": None}, "accepted must be a number"),
        ({"accepted": 1, "program": 1}, "program must be a string; got 1"),
        ({"accepted": 1, "program": b"curl"}, "program must be a string"),
        ({"unknown_field": 1, "differences": 1}, "differences must be"),
        ({"unknown_field": 1, "differences": b"stream"}, "differences must be"),
        ({"unknown_field": 1, "differences": [["stream"]]}, "differences must be"),
        ({"unknown_fields": 1}, "did you mean unknown_field?"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(arguments, reason):
    with pytest.raises(TypeError, match=reason):
        expect(**arguments)


@pytest.mark.parametrize(
    "differences", ["stream top_p", ["stream", "top_p"], {"top_p stream"}]
)
def test_differences_are_compared_in_any_form(differences):
    arrived = ArrivedRequest(1, "unknown_field", 400, "chat", "curl", ("stream",))
    expectation = Expectation({"unknown_field": 1}, "curl", difference_ids(differences))
    expectation.check()

    assert list(expectation.violations({"unknown_field": 1}, [arrived])) == [
        "differences: expected stream top_p, got stream"
    ]


def test_no_differences_may_be_expected_of_accepted_requests():
    Expectation({"accepted": 1}, "", difference_ids([])).check()
