"""Requests from real "test connection" buttons and chats, replayed from buttons.toml.

A person presses the button, reads the key's journal, changes what it names and
presses again. One answer must be enough to make the request comply.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from readback import programs
from tests.support.server import Server
from tests.support.waiting import PATIENCE, wait_until

CHAT = "/chat/completions"
MODEL = "vendor-cabinet-preview-echo"
COMPLYING = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
# How the detail of a refusal names differences that are not fields.
WORDS = {
    "messages.system": "a system prompt",
    "messages.history": "earlier messages",
    "message.content": "content",
    "/responses": "the Responses API",
    "/messages": "the Anthropic API",
    "/v1beta": "the Gemini API",
}


class Button(NamedTuple):
    """One request from a program; see buttons.toml."""

    program: str
    request: str
    read_from: str
    user_agent: str
    path: str = CHAT
    body: str = ""


class Row(NamedTuple):
    """The journal row of one refused request."""

    detail: str
    user_agent: str
    differences: list[str]


TABLE = tomllib.loads(Path(__file__).with_name("buttons.toml").read_text())["button"]
BUTTONS = [Button(**row) for row in TABLE]
PROGRAMS = {row.name: row for row in programs.table()}


def each(buttons: list[Button]) -> pytest.MarkDecorator:
    names = [f"{button.program}: {button.request}" for button in buttons]
    return pytest.mark.parametrize("button", buttons, ids=names)


class Site(NamedTuple):
    """A running server, and a client for all requests."""

    server: Server
    client: httpx.Client

    def press(self, button: Button, key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", "User-Agent": button.user_agent}
        url = f"{self.server.base_url}{button.path}"
        if not button.body:
            return self.client.get(url, headers=headers)
        body = json.loads(button.body)
        return self.client.post(url, headers=headers, json=body)


def refused_row(server: Server, key: str) -> Row:
    """Return the only refused row in a key's journal."""
    rows: list[tuple[str, str, str]] = []

    def written() -> bool:
        columns = "detail, user_agent, differences, code"
        found = server.database.journal(key, columns)
        rows[:] = [row[:3] for row in found if row[3]]
        return bool(rows)

    wait_until(written, "the journal has the request")
    [[detail, user_agent, differences]] = rows
    return Row(detail, user_agent, differences.split())


@pytest.fixture(scope="module")
def site(server: Server) -> Iterator[Site]:
    with httpx.Client(timeout=PATIENCE) as client:
        yield Site(server, client)


class Pressed(NamedTuple):
    """A refused request, and what its key's journal says about it."""

    key: str
    refused: httpx.Response
    row: Row


@pytest.fixture(scope="module")
def pressed(site: Site) -> dict[Button, Pressed]:
    """Press every button that sends a chat, each with its own key.

    The journal is written twice a second, so one wait is enough for all rows.
    """
    chats = {button: site.server.new_key() for button in BUTTONS if button.body}
    refused = {button: site.press(button, key) for button, key in chats.items()}
    return {
        button: Pressed(key, refused[button], refused_row(site.server, key))
        for button, key in chats.items()
    }


def changed(button: Button, differences: list[str]) -> Button:
    """Return the request without these differences, as a person would change it."""
    if any(difference.startswith("/") for difference in differences):
        return button._replace(path=CHAT, body=json.dumps(COMPLYING))
    body = json.loads(button.body)
    for difference in sorted(differences, key=lambda each: "messages" not in each):
        _remove(body, difference)
    return button._replace(body=json.dumps(body))


def _remove(body: dict[str, Any], difference: str) -> None:
    messages = body["messages"]
    match difference.split("."):
        case ["messages", "system"]:
            messages[:] = [each for each in messages if each["role"] != "system"]
        case ["messages", "history"]:
            del messages[:-1]
        case ["message", "content"]:
            parts = messages[-1]["content"]
            messages[-1]["content"] = "".join(part["text"] for part in parts)
        case ["model"]:
            body["model"] = MODEL
        case ["stream"]:
            body["stream"] = False
        case ["max_tokens"]:
            body["max_tokens"] = 2000
        case [field]:
            del body[field]
        case _:
            raise AssertionError(f"nobody knows how to remove {difference}")


@each([button for button in BUTTONS if not button.body])
def test_a_check_that_lists_the_models_complies(button: Button, site: Site):
    assert site.press(button, site.server.new_key()).status_code == 200


@each([button for button in BUTTONS if button.body])
def test_one_answer_names_all_that_must_change(
    button: Button, site: Site, pressed: dict[Button, Pressed]
):
    key, refused, row = pressed[button]

    again = site.press(changed(button, row.differences), key)

    assert refused.status_code in (400, 404)
    assert refused.headers["X-Error-Detail"] == row.detail
    for difference in row.differences:
        assert WORDS.get(difference, difference) in row.detail
    assert again.status_code == 200, again.headers["X-Error-Detail"]


@each([button for button in BUTTONS if button.body and button.user_agent])
def test_the_journal_recognises_the_program_if_its_user_agent_names_it(
    button: Button, pressed: dict[Button, Pressed]
):
    row = pressed[button].row

    found = programs.recognise(row.user_agent)

    own = PROGRAMS[button.program].user_agent
    if own is None or not own.search(row.user_agent):
        assert found is None or found.library
        return
    assert found and found.name == button.program
    # The answer to a wrong path names the API that was meant, not the program.
    assert found.name in row.detail or button.path != CHAT
