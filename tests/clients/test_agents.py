"""Agents send requests that are too large; the refusal says that the key is right."""

from typing import Any

import httpx
import pytest

from readback import keys
from tests.clients.test_buttons import refused_row
from tests.support.server import Server
from tests.support.waiting import PATIENCE

QWEN_CODE = "QwenCode/0.24.4 (linux; arm64)"
# As large as Qwen Code's request for one word, with its prompt and its tools.
BODY = b"x" * 60_533


def post(server: Server, key: str, user_agent: str, **request: Any) -> httpx.Response:
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "User-Agent": user_agent,
    }
    url = f"{server.base_url}/chat/completions"
    return httpx.post(url, headers=headers, timeout=PATIENCE, **request)


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_an_agent_whose_request_is_too_large_is_told_that_its_key_is_right(
    server: Server, chunked: bool
):
    key = server.new_key()

    refused = post(server, key, QWEN_CODE, content=iter([BODY]) if chunked else BODY)

    detail = refused.headers["X-Error-Detail"]
    assert refused.status_code == 413
    assert "Qwen Code cannot be made to comply. The network, the address" in detail
    assert "Shorten the text" not in detail
    row = refused_row(server, key)
    assert row.detail == detail and row.differences == ["body.too_large"]


def test_a_wrong_key_proves_nothing_however_large_the_request_is(server: Server):
    refused = post(server, keys.mint(), QWEN_CODE, content=BODY)

    assert refused.status_code == 401
    assert "Qwen Code" not in refused.headers["X-Error-Detail"]
