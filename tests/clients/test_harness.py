"""What `make clients` reports is what arrived and what was printed."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from clients.calls import call, shown
from clients.relay import Relay, Treatment

from tests.support.server import Server
from tests.support.waiting import PATIENCE

MODEL = "vendor-cabinet-preview-echo"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "Ready to copy?"}]}
BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 33\r\n\r\n"
    b'{"error":{"code":"rate_limited"}}'
)
TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/lib/site-packages/one.py", line 1, in <module>
    raise First
one.First: text

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/lib/site-packages/two.py", line 2, in <module>
    raise Second
two.Second: Error code: 401
ValueError: in the second line of its text
"""


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    relay = Relay(server.base_url)
    with relay.running():
        yield relay


def post(relay: Relay, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        return client.post(
            f"{relay.base_url}/chat/completions", json=BODY, headers=headers
        )


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        ("Error: Error code: 401\n", "Error: Error code: 401"),
        ("Starting.\nlitellm.RateLimitError: slow\nRetry", "litellm.RateLimitError: "
         "slow Retry"),
        (TRACEBACK, "two.Second: Error code: 401 ValueError: in the second line of "
         "its text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("key sk-echo-abc123 at 127.0.0.1:54321", "key sk-echo-… at 127.0.0.1:8000"),
        ("in /srv/x/lib/site-packages/a.py", "in …/site-packages/a.py"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_user_sees_the_last_exception_or_all_of_the_output(output, seen):
    assert shown(output) == seen


def test_the_relay_passes_a_request_on_and_records_it(relay, server):
    answer = post(relay, server.api_key)

    assert answer.json()["choices"][0]["message"]["content"] == "Ready to copy?"
    [request] = relay.take()
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert (request.fields, request.status) == (["model", "messages"], 200)
    assert request.user_agent.startswith("python-httpx/")
    assert relay.take() == []


def test_the_relay_passes_on_the_reason_and_the_detail_of_a_refusal(relay, server):
    relay.treatment = Treatment(added_fields={"temperature": 0.7})

    answer = post(relay, server.api_key)

    assert answer.reason_phrase == "Bad Request (unknown_field)"
    assert "temperature" in answer.headers["X-Error-Detail"]
    [request] = relay.take()
    assert (request.fields, request.code) == (["model", "messages"], "unknown_field")


def test_the_relay_asks_for_an_explanation_in_the_body(relay, server):
    added = {"temperature": 0.7}
    relay.treatment = Treatment(added, added_headers={"Prefer": "explain"})

    assert "temperature" in post(relay, server.api_key).json()["error"]["message"]


def test_the_relay_repeats_an_answer_without_asking_the_server(relay):
    relay.treatment = Treatment(answer=BUSY)

    answers = [post(relay, "any"), post(relay, "any")]

    assert [(one.status_code, one.headers["Retry-After"]) for one in answers] == [
        (429, "1"),
        (429, "1"),
    ]
    assert [one.code for one in relay.take()] == ["rate_limited", "rate_limited"]


def test_a_client_that_does_not_end_is_cut_off(relay, tmp_path: Path):
    driver = tmp_path / "endless.sh"
    driver.write_text("echo waiting\nexec sleep 600\n")

    # A shell needs some milliseconds to print the word.
    made = call(["sh", str(driver)], relay, relay.base_url, "key", "default", seconds=3)

    assert (made.exit_code, made.shown, made.requests) == (None, "waiting", [])
    assert not made.accepted
