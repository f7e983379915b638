"""The table of programs is sound, and a User-Agent names at most one of them."""

import re
import subprocess
import sys
import tomllib

import pytest

from readback import contract, programs
from readback.differences import ADVICE, advice
from readback.programs import Program

TABLE = programs.table()


def each_program() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)


@each_program()
def test_a_row_is_complete(row: Program):
    assert re.fullmatch(r"[\x20-\x7e]{2,40}", row.name)
    assert row.complies in ("out of the box", "with settings", "never")
    assert row.checked in ("run", "read")
    assert row.version
    if row.complies == "with settings":
        assert row.setup
    if row.user_agent is None:
        assert not (row.switches or row.cannot)
    elif row.complies == "with settings":
        assert row.switches
    elif row.complies == "never":
        assert row.cannot


@each_program()
def test_the_differences_of_a_row_are_sound(row: Program):
    assert not {advice(each) for each in row.cannot} & row.switches.keys()
    for difference in row.cannot:
        field = re.fullmatch(r"(message\.)?[a-z0-9_]{1,40}", difference)
        assert field or difference in ADVICE, difference
    for general in row.switches:
        field = re.fullmatch(r"Do not send (message\.)?[a-z0-9_]{1,40}\.", general)
        assert field or general in ADVICE.values(), general
    for switch in row.switches.values():  # short, and fits into a header
        assert re.fullmatch(r"[\x21-\x7e][\x20-\x7e]{2,118}[\x21-\x7e]", switch), switch
        assert not switch.endswith("."), switch
    # A program that can never comply can still correct its base URL.
    assert "base_url" in row.cannot or not row.cannot_remove("base_url")


def test_no_two_programs_have_the_same_name_or_user_agent():
    assert len({row.name for row in TABLE}) == len(TABLE)
    agents = [row.user_agent for row in TABLE if row.user_agent]
    assert len(set(agents)) == len(agents)


def test_nobody_is_told_that_a_library_cannot_comply():
    """A library cannot be blamed: the program that uses it may be able to comply."""
    assert not any(row.cannot for row in TABLE if row.library)


def test_differences_that_one_change_removes_have_one_switch():
    for row in tomllib.loads(programs._TABLE.read_text(encoding="utf-8"))["program"]:
        advices = [advice(each) for each in row.get("switches", ())]
        assert len(set(advices)) == len(advices), row["name"]


WORKS = "The network, the address and the key work: test with curl."
DEFAULT = (
    "Your program or its library may do this by default; if it has no setting for "
    f"this, it cannot comply. {WORKS}"
)
AGENTS = "Agents/Python 0.24.0"
LIBRARY = "OpenAI/Python 3.49.0"


@pytest.mark.parametrize(
    "user_agent, differences, advice",
    [
        # At most the library is known: the program may do this by default.
        (LIBRARY, "temperature", f"Do not send temperature. {DEFAULT}"),
        ("zyzzyva/47", "tools tool_choice seed",
         f"Turn off tools. Do not send seed. {DEFAULT}"),
        (LIBRARY, "temperature response_format",
         "Turn off structured output. openai (Python): create(...) without "
         "response_format, instead of parse(...). Do not send temperature. "
         f"{DEFAULT}"),
        ("zyzzyva/47", "body.too_large",
         f"Shorten the text to 8192 bytes in UTF-8. {DEFAULT}"),
        # Settings that people choose are not defaults.
        (LIBRARY, "model", f"Set the model to {contract.MODEL}."),
        ("curl/8", "content-type", "curl: -H 'Content-Type: application/json'."),
        # The program is known, with a setting for all, some or none of the differences.
        (AGENTS, "stream stream_options temperature",
         "OpenAI Agents SDK: Runner.run(...) instead of Runner.run_streamed(...). "
         "Leave temperature unset in ModelSettings(...)."),
        (AGENTS, "stream x",
         "OpenAI Agents SDK: Runner.run(...) instead of Runner.run_streamed(...). "
         f"Do not send x. {DEFAULT}"),
        ("Zed/1.18.0", "stream", f"Zed cannot be made to comply. {WORKS}"),
    ],
)  # fmt: skip
def test_the_advice_has_a_sentence_for_everything_and_a_plain_ending(
    user_agent: str, differences: str, advice: str
):
    assert programs.advise(user_agent, differences.split(), connected=True) == advice


def test_a_path_proves_nothing_because_no_key_was_looked_at():
    other_api = programs.advise(LIBRARY, ["/embeddings"], connected=False)
    base_url = programs.advise("zyzzyva/47", ["base_url"], connected=False)

    assert other_api.startswith("Turn off embeddings. Your program or its library may")
    assert other_api.endswith(
        "cannot comply. Test its key, its address and the network"
        " with curl or the probe."
    )
    assert base_url == "Correct the base URL: it must end in /v1."


def test_what_has_no_room_is_counted():
    fields = [f"{'x' * 30}{number}" for number in range(20)]

    advice = programs.advise("", ["stream", *fields], connected=True)

    assert len(advice) <= programs.ADVICE_LENGTH
    told = advice.count("Do not send")
    assert f". And {20 - told} more. Your program" in advice


def test_values_of_the_contract_are_those_of_contract_py(monkeypatch):
    """After the contract changes, no text in the table contains an old value."""
    values = (str(contract.MAX_TOKENS), contract.MODEL)
    another = {"MAX_TOKENS": 47, "VERSION_PREFIX": "/v47"}
    monkeypatch.setattr(programs, "_CONTRACT", another)
    rows = programs.table.__wrapped__()

    texts = [text for row in rows for text in (row.setup, *row.switches.values())]
    assert any("max_tokens=47" in text for text in texts)
    assert any("end in /v47" in text for text in texts)
    for text in texts:
        assert not any(value in text for value in values), text
        # Other APIs' prefixes, such as /openai/v1, may remain.
        assert not re.search(rf"(?<!\w){contract.VERSION_PREFIX}\b", text), text


def test_a_wrong_name_of_a_value_is_an_error():
    with pytest.raises(KeyError):
        programs._filled_in("max_tokens=$MAX_TOKEN")


@pytest.mark.parametrize(
    "user_agent, name",
    [
        ("", None),
        ("zyzzyva/47", None),
        ("curl/8.5.0", "curl"),
        ("codex_cli_rs/0.166.0 (Debian 12.0.0; aarch64) xterm", "Codex"),
        ("Codex Desktop/0.166.0 (Mac OS 26.1.0; arm64)", "Codex"),
        ("codex-tui/0.166.0 (Debian 12.0.0; aarch64)", "Codex"),
        ("claude-cli/2.1.197 (external, sdk-cli)", "Claude Code"),
        ("GeminiCLI-tui/0.61.0/gemini-3-pro (linux; arm64; terminal)", "Gemini CLI"),
        ("opencode/1.18.18 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14",
         "opencode"),
        ("QwenCode/0.24.4 (linux; arm64)", "Qwen Code"),
        ("Charm-Crush/0.90.0 (https://charm.land/crush)", "Crush"),
    ],
)  # fmt: skip
def test_a_program_is_recognised_by_its_user_agent(user_agent: str, name: str | None):
    found = programs.recognise(user_agent)

    assert found is None if name is None else found.name == name and not found.library


@pytest.mark.parametrize(
    "user_agent, name",
    [
        ("AsyncAzureOpenAI/Python 3.49.0", "openai (Python)"),
        ("AzureOpenAI/JS 7.53.0", "openai (Node)"),
        ("OpenAI/Go 3.8.1", "openai (Go, Java)"),
        ("OpenAIClientAsyncImpl/Java 4.6.0", "openai (Go, Java)"),
        ("Agents/JavaScript 0.20.0", "OpenAI Agents SDK (JavaScript)"),
        ("Groq/JS 1.6.0", "groq (Python, Node)"),
        ("Together/JS 0.52.0", "together (Node)"),
        ("mistral-client-typescript/2.7.0", "mistralai (Python, Node)"),
        ("ollama-js/0.6.4 (x64 linux)", "ollama (Python, Node)"),
        ("undici", "fetch (Node)"),
    ],
)
def test_a_library_is_recognised_in_every_language(user_agent: str, name: str):
    found = programs.recognise(user_agent)

    assert found and found.name == name


def test_the_table_is_read_before_the_first_request() -> None:
    code = (
        "from readback import programs; from readback.api.server import api_server\n"
        "from readback.config import Config; from readback.processes.lifecycle import"
        " Lifecycle\n"
        "api_server(Config(), Lifecycle(), [])\n"
        "print(programs.table.cache_info().currsize)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"
