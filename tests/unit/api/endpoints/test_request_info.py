"""What a head says about the client's program, and the hints for that program."""

import pytest

from readback.api.endpoints.near_misses import explain_not_found
from readback.api.endpoints.request_info import describe
from readback.differences import ADVICE
from readback.http.head import parse

ELECTRON = (
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    b"CherryStudio/2.0.8 Chrome/142.0.7444.59 Electron/41.8.0 Safari/537.36"
)


@pytest.mark.parametrize(
    "sent, shown",
    [
        (b"curl/8.5.0", "curl/8.5.0"),
        (b"caf\xc3\xa9\t1", "caf???1"),
        (b"x" * 500, "x" * 80),
        (b"tool/1 sk-echo-0123456789abcdef!", "tool/1 [key]!"),
        (b"x" * 70 + b" sk-proj-" + b"y" * 60, "x" * 70 + " [key]"),
        (b"task-runner/2", "task-runner/2"),
        (
            ELECTRON,
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) "
            "CherryStudio/2.0.8 Chrome/142.0.7444.5",
        ),
        (b"sk- AppleWebKit/1 (KHTML, like Gecko)echo-0123456789abcdef", "[key]"),
    ],
)
def test_a_user_agent_is_shown_in_printable_ascii(sent: bytes, shown: str) -> None:
    data = b"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: " + sent + b"\r\n\r\n"
    assert describe(parse(data, 100)).user_agent == shown


def not_found_detail(request_line: bytes, user_agent: bytes) -> str:
    fields = b"Host: x\r\nUser-Agent: " + user_agent
    data = request_line + b" HTTP/1.1\r\n" + fields + b"\r\n\r\n"
    miss = describe(parse(data, 100)).near_miss
    assert miss is not None
    return miss.sentence


# A program, the path that it requested, and what the hint contains.
HINTS = [
    (b"Agents/Python 0.24.0", b"/v1/responses",
     "OpenAI Agents SDK: set_default_openai_api('chat_completions')"),
    (b"opencode/1.18.18 ai-sdk/4", b"/chat/completions",
     "baseURL of the provider in opencode.json must end in /v1"),
    (b"Groq/Python 1.7.0", b"/openai/v1/chat/completions",
     "groq (Python, Node): It adds /openai/v1 to every base URL"),
    (b"Groq/Python 1.7.0", b"/v1/openai/v1/chat/completions", "so no base URL works"),
    (b"Anthropic/Python 2.8.0", b"/v1/messages", "only uses the Anthropic API"),
    (b"Anthropic/Python 2.8.0", b"/v1/v1/messages", "only uses the Anthropic API"),
    (b"ollama-python/0.6.3", b"/v1/api/chat", "the API of Ollama; use"),
    (b"mistral-client-python/3.7.0", b"/v1/v1/chat/completions", "server_url with"),
    (b"Together/Python 3.0.0", b"/v1/v1/chat/completions", "base_url without /v1"),
]  # fmt: skip


@pytest.mark.parametrize("user_agent, path, hint", HINTS)
def test_a_wrong_path_has_a_hint_for_the_program(
    user_agent: bytes, path: bytes, hint: str
) -> None:
    detail = not_found_detail(b"POST " + path, user_agent)

    miss = explain_not_found(b"POST", path)
    assert detail.startswith(miss.sentence)
    # The base URLs of some programs must not end in /v1, so the general advice, which
    # says that they must, never appears beside a hint.
    assert hint in detail and ADVICE[miss.difference] not in detail
    assert ADVICE[miss.difference] in not_found_detail(b"POST " + path, b"zebra/1")


def test_a_path_that_no_program_requests_by_mistake_has_no_hint() -> None:
    plain = not_found_detail(b"GET /favicon.ico", b"zebra/1")

    assert not_found_detail(b"GET /favicon.ico", b"Agents/Python 0.24.0") == plain


def test_a_program_without_chat_completions_is_not_told_to_switch() -> None:
    for program, (path, user_agent) in {
        "Codex": (b"/v1/responses", b"codex_cli_rs/0.166.0 (Debian 12.0.0; aarch64)"),
        "Claude Code": (b"/v1/messages?beta=true", b"claude-cli/2.1.197 (external)"),
        "Gemini CLI": (b"/v1/v1beta/models/x:countTokens?alt=sse", b"GeminiCLI/0.9/x"),
    }.items():
        detail = not_found_detail(b"POST " + path, user_agent)

        assert "switch it" not in detail and "choose an" not in detail
        assert f"{program} cannot be made to comply" in detail
        assert "Test its key, its address and the network with curl or" in detail
        # The key was not checked, so the detail must not call it right.
        assert "right" not in detail


@pytest.mark.parametrize(
    "media_type", [b"application/x-www-form-urlencoded", b"Multipart/Form-Data; b=1"]
)
def test_a_form_is_named(media_type: bytes) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
    data = head + media_type + b"\r\n\r\n"
    detail = describe(parse(data, 100)).media_type_detail
    assert detail.startswith("The Content-Type is that of a form")
