"""Rules about time: a key's rate limit, and slow requests.

Each test has its own key on a server with low rates: one request a second, with a burst
of three.
"""

import time

import pytest

from readback import keys
from tests.support.api import CHAT, MODELS, Api, assert_refused, assert_success, draft
from tests.support.keys import mistyped
from tests.support.load import models, spread
from tests.support.server import Server
from tests.support.wire import Answer, exchange, request

BURST = 3


@pytest.fixture
def alice(strict_server: Server) -> Api:
    return Api.of(strict_server).with_key(strict_server.new_key())


def use_up(api: Api, raw: bytes = b"") -> Answer:
    """Use up the rate, then send `raw` if it is given; return the last answer.

    The requests arrive at once, so that little is refilled meanwhile on a slow machine.
    """
    number = 2 * BURST
    with api.endpoint.connect() as connection:
        connection.send(models(api.endpoint, api.key) * number + raw)
        answers = [connection.read_answer() for _ in range(number + bool(raw))]
    assert_refused(answers[number - 1], "rate_limited")
    return answers[-1]


def retry_after(answer: Answer) -> int:
    value = answer.header("Retry-After")
    assert value and value.isdigit(), value
    return int(value)


def test_a_key_over_its_rate_is_told_when_to_retry(alice: Api) -> None:
    wait = retry_after(use_up(alice))
    assert 1 <= wait <= 2
    # A fixed sleep, because Retry-After promises that this time is enough.
    time.sleep(wait)
    assert_success(alice.models())


def test_another_key_is_not_affected(alice: Api, strict_server: Server) -> None:
    bob = alice.with_key(strict_server.new_key())
    use_up(alice)
    for _ in range(BURST):
        assert_success(bob.models())


def test_the_rate_is_checked_after_the_path_and_the_key(alice: Api) -> None:
    nothing = request("GET", "/v1/nothing", alice.usual_fields)
    assert_refused(use_up(alice, nothing), "not_found")
    without_key = request("GET", MODELS, [alice.host])
    assert_refused(use_up(alice, without_key), "invalid_key")


def test_the_rate_of_both_operations_is_checked_before_the_body(alice: Api) -> None:
    for body, media in (
        (b" " * 32_769, "application/json"),
        (b"{}", "text/plain"),
        (b"{", "application/json"),
        (b"{}", "application/json"),
    ):
        length = ("Content-Length", str(len(body)))
        fields = [*alice.usual_fields, ("Content-Type", media), length]
        raw = request("POST", CHAT, fields, body)
        answer = use_up(alice, raw)
        assert_refused(answer, "rate_limited")
        assert retry_after(answer) >= 1


def test_a_wrong_path_does_not_count_against_the_rate(alice: Api) -> None:
    for _ in range(10):
        assert_refused(alice.ask("GET", "/v1/nothing"), "not_found")
    for _ in range(BURST):
        assert_success(alice.models())


def test_a_request_without_an_accepted_key_is_told_so_ten_thousand_times(
    strict_server: Server,
) -> None:
    """All come from one address; two fifths have keys that are sent only once."""
    server = Api.of(strict_server)
    endpoint, revoked = server.endpoint, strict_server.new_key()
    strict_server.revoke_key(revoked)
    without_key = request("GET", MODELS, [server.host])
    damaged = models(endpoint, mistyped(revoked))
    assert spread(endpoint, [without_key, damaged] * 2000, 40) == {401: 4000}

    # These keys are looked up. If that takes longer than two seconds, as it may on a
    # busy machine, the answer does not say that the key is wrong.
    looked_up = [
        models(endpoint, key)
        for _ in range(2000)
        for key in (revoked, keys.mint(), keys.mint())
    ]
    answered = spread(endpoint, looked_up, 40)
    assert answered[401] + answered[503] == answered.total() == 6000
    assert_refused(exchange(endpoint, without_key), "invalid_key")


def test_a_body_that_does_not_arrive_in_time_is_refused(alice: Api) -> None:
    with alice.endpoint.connect() as connection:
        connection.send(alice.chat_bytes(draft())[:-1])
        assert_refused(connection.read_answer(), "request_timeout")
