"""Rehearsal keys: each request gets what its step says, and nothing else changes."""

import json
import time

import pytest

from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_common_headers,
    assert_echo,
    assert_refused,
    draft,
)
from tests.support.server import Server
from tests.support.wire import Answer, chunked, request

FAILURES = {
    "429": ("Too Many Requests", "rate_limited", "1"),
    "500": ("Internal Server Error", "internal_error", None),
    "503": ("Service Unavailable", "unavailable", "1"),
}
OVERSIZED = b" " * 40_000


def rehearsing(server: Server, pattern: str) -> Api:
    return Api.of(server).with_key(server.new_key(pattern))


def assert_rehearsed(answer: Answer, step: str, place: int = 1, steps: int = 1) -> None:
    """Check that a rehearsed failure differs from a real one only in the detail."""
    phrase, code, retry_after = FAILURES[step]
    assert (answer.status, answer.reason) == (int(step), f"{phrase} ({code})")
    assert answer.body == b'{"error":{"code":"%b"}}' % code.encode()
    assert answer.header("Retry-After") == retry_after
    assert_common_headers(answer)
    detail = f"Rehearsed: step {place} of {steps} of this key's pattern."
    assert answer.header("X-Error-Detail") == detail


def test_the_answers_follow_the_pattern_again_and_again(server: Server) -> None:
    alice = rehearsing(server, "429 503 500 ok")
    for _ in range(2):
        for place, step in enumerate(("429", "503", "500"), start=1):
            assert_rehearsed(alice.chat(draft("x")), step, place, steps=4)
        assert_echo(alice.chat(draft("x")), "x")


def test_a_normal_answer_may_be_a_refusal(server: Server) -> None:
    alice = rehearsing(server, "ok 429")
    assert_refused(alice.chat({**draft(), "model": "gpt"}), "invalid_model")
    assert_rehearsed(alice.chat(draft()), "429", 2, steps=2)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"model":"x"}', OVERSIZED], ids=lambda b: b[:9]
)
@pytest.mark.parametrize("media_type", ["application/json", "text/plain"])
def test_a_step_applies_whatever_the_body_is(
    server: Server, body: bytes, media_type: str
) -> None:
    alice = rehearsing(server, "500")
    fields = [*alice.usual_fields, ("Content-Type", media_type)]
    assert_rehearsed(alice.ask("POST", CHAT, fields, body), "500")
    coding = ("Transfer-Encoding", "chunked")
    raw = request("POST", CHAT, [*fields, coding], chunked(body))
    assert_rehearsed(alice.send(raw), "500")


def test_a_body_is_never_taken_for_a_request(server: Server) -> None:
    alice = rehearsing(server, "429 ok")
    smuggled = request("GET", MODELS, alice.usual_fields)
    with alice.endpoint.connect() as connection:
        connection.send(alice.chat_bytes(smuggled) + alice.chat_bytes(draft("x")))
        assert_rehearsed(connection.read_answer(), "429", 1, steps=2)
        assert_echo(connection.read_answer(), "x")
        connection.finish_sending()
        assert connection.rest() == b""


def test_real_refusals_come_first_and_use_no_step(server: Server) -> None:
    alice = rehearsing(server, "429")
    assert_refused(alice.ask("GET", f"{MODELS}?limit=1"), "not_found")
    assert_refused(alice.ask("GET", "/v1/nothing"), "not_found")
    revoked = server.new_key("429")
    server.revoke_key(revoked)
    assert_refused(alice.with_key(revoked).models(), "invalid_key")
    assert_rehearsed(alice.models(), "429")


def test_the_rate_comes_first_and_uses_no_step(strict_server: Server) -> None:
    alice = rehearsing(strict_server, "500 503 ok 429")
    raw = request("GET", MODELS, alice.usual_fields)
    with alice.endpoint.connect() as connection:
        # All six arrive at once; on a slow machine, the rate may be refilled meanwhile.
        connection.send(raw * 6)
        answers = [connection.read_answer() for _ in range(6)]
    used_up = "This key has used up its rate"
    details = [answer.header("X-Error-Detail") or "" for answer in answers]
    steps = sum(not detail.startswith(used_up) for detail in details)
    assert steps >= 3 and details[-1].startswith(used_up)
    time.sleep(int(answers[-1].header("Retry-After") or 0))
    assert alice.models().status == [500, 503, 200, 429][steps % 4]


def test_the_refusal_of_a_wrong_path_names_the_pattern(server: Server) -> None:
    alice = rehearsing(server, "429 ok")
    for _ in range(2):
        detail = assert_refused(alice.ask("GET", "/v1/nothing"), "not_found")
        assert detail.endswith("This is a rehearsal key with the pattern 429 ok.")


def test_a_client_can_ask_for_the_explanation_in_the_body(server: Server) -> None:
    alice = rehearsing(server, "429")
    answer = alice.chat(draft(), extra=[("Prefer", "explain")])
    message = "Rehearsed: step 1 of 1 of this key's pattern."
    error = {"code": "rate_limited", "message": message}
    assert json.loads(answer.body) == {"error": error}


def test_a_wait_delays_the_normal_answer(server: Server) -> None:
    alice = rehearsing(server, "wait1 ok")
    begun = time.monotonic()
    assert_echo(alice.chat(draft("x")), "x")
    assert time.monotonic() - begun >= 1
    assert_echo(alice.chat_in_chunks(draft("x")), "x")
    assert_refused(alice.chat(OVERSIZED), "request_too_large")


def test_pipelined_requests_wait_one_after_the_other(server: Server) -> None:
    alice = rehearsing(server, "wait1 429")
    begun = time.monotonic()
    with alice.endpoint.connect() as connection:
        connection.send(alice.chat_bytes(draft("x")) * 4)
        connection.finish_sending()
        for _ in range(2):
            assert_echo(connection.read_answer(), "x")
            assert_rehearsed(connection.read_answer(), "429", 2, steps=2)
    assert time.monotonic() - begun >= 2
