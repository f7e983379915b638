"""The form of a refusal, the same for every code and every way to get there.

Every file checks its own refusals with `assert_refused`; this one compares all codes.
"""

from collections.abc import Callable

import pytest

from tests.conformance.test_order import IN_ORDER, broken
from tests.support.api import CHAT, MARKER, MODELS, STATUS, Api, assert_refused, draft
from tests.support.wire import Answer, request

Trigger = Callable[[Api], Answer]


def with_a_message_of(**members: object) -> Trigger:
    message = {"role": "user", "content": MARKER, **members}
    return lambda api: api.chat(draft(messages=[message]))


def breaking(rule: str) -> Trigger:
    return lambda api: api.send(broken(api, rule))


# One request for every code; rates and time-outs are in test_rates.py.
TRIGGERS: dict[str, Trigger] = {
    **{violation.code: breaking(rule) for rule, violation in IN_ORDER.items()},
    "unsupported_transfer_coding": lambda api: api.ask(
        "POST", CHAT, [*api.usual_fields, ("Transfer-Encoding", "gzip, chunked")]
    ),
    "target_too_long": lambda api: api.ask("GET", "/" + "a" * 17_000),
}


def test_every_code_has_a_trigger_here() -> None:
    assert set(STATUS) - set(TRIGGERS) == {"rate_limited", "request_timeout"}


@pytest.mark.parametrize("code", TRIGGERS)
def test_a_refusal_has_the_exact_form(api: Api, code: str) -> None:
    # A client that is known takes a shorter path, which has to keep the same rules.
    for _ in range(6):
        assert api.chat(draft()).status == 200
    answers = [TRIGGERS[code](api) for _ in range(3)]
    for answer in answers:
        assert_refused(answer, code)
        challenge = "Bearer" if code == "invalid_key" else None
        assert answer.header("WWW-Authenticate") == challenge
        assert answer.header("Retry-After") is None
        if api.cabinet_url:  # which is not known with --base-url
            page = f"{api.cabinet_url.rstrip('/')}/docs/errors#{code}"
            assert answer.header("Link") == f'<{page}>; rel="help"'
    assert len({answer.header("X-Request-Id") for answer in answers}) == 3


def test_a_refusal_has_the_exact_bytes(api: Api) -> None:
    # Independent of the strict reader: the exact bytes.
    raw = request("GET", "/v1/nothing", [*api.usual_fields, ("Connection", "close")])
    with api.endpoint.connect() as connection:
        connection.send(raw)
        received = connection.rest()
    assert received.startswith(b"HTTP/1.1 404 Not Found (not_found)\r\n")
    assert received.endswith(b'\r\n\r\n{"error":{"code":"not_found"}}')


def test_neither_text_nor_key_is_repeated_wherever_they_are(api: Api) -> None:
    # What the server has stored is searched when it has stopped: see conftest.py.
    careless = [("User-Agent", f"careless/1 {api.key}")]
    assert api.chat(draft(), extra=careless).status == 200
    answers = [
        api.chat(draft(), extra=[("Content-Encoding", MARKER)]),
        *(api.chat(body) for body in (MARKER.encode(), draft(**{f"{MARKER}!": 1}))),
        *(api.chat(draft(**{name: 1})) for name in (api.key, f"my key {api.key}")),
        *(api.chat(draft(**{name: api.key})) for name in ("model", "stream")),
        api.chat(draft(messages=api.key)),
        with_a_message_of(role=MARKER)(api),
        with_a_message_of(**{f"{MARKER} ": 1})(api),
        api.ask(MARKER, MODELS),
        api.ask("GET", f"/v1/{MARKER}"),
        api.ask("GET", f"/%0d%0aX-{MARKER}:1"),
        api.ask("GET", f"{MODELS}?key={api.key}&{MARKER}"),
        api.send(f"GET / HTTP/1.1\r\nHost: {MARKER}@{api.key}\r\n\r\n".encode()),
        api.send(f"{MARKER}\r\n\r\n{api.key}\r\n\r\n".encode()),
        api.with_key(f"sk-echo-{MARKER}").chat(draft()),
    ]
    for answer in answers:
        assert answer.status in STATUS.values()
        for secret in (MARKER, api.key):
            assert secret.encode() not in answer.head + answer.body
