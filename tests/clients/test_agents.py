"""Agents send more than a request may have; their users learn what that proves."""

from collections.abc import Iterator

import httpx
import pytest

from readback import keys
from tests.clients.test_buttons import Site, site_with_account
from tests.support.server import Server

QWEN_CODE = "QwenCode/0.24.4 (linux; arm64)"
# What Qwen Code sends for one word: its prompt, its tools and the descriptions of both.
BODY = b"x" * 60_533


@pytest.fixture(scope="module")
def site(server: Server) -> Iterator[Site]:
    with site_with_account(server, "agents@example.com") as site:
        yield site


def post(site: Site, key: str, user_agent: str, **request: object) -> httpx.Response:
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "User-Agent": user_agent,
    }
    url = f"{site.server.base_url}/chat/completions"
    return site.client.post(url, headers=headers, **request)


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_an_agent_whose_request_is_too_large_is_told_that_its_key_is_right(
    site: Site, chunked: bool
):
    key = site.new_key()

    refused = post(site, key, QWEN_CODE, content=iter([BODY]) if chunked else BODY)

    detail = refused.headers["X-Error-Detail"]
    assert refused.status_code == 413
    assert "Qwen Code cannot be made to comply, but this answer shows" in detail
    assert "Shorten the text" not in detail
    row = site.refused_row(key)
    assert row.detail == detail and row.differences == ["body.too_large"]


def test_another_program_whose_request_is_too_large_is_told_to_shorten_its_text(
    site: Site,
):
    refused = post(site, site.new_key(), "zyzzyva/47", content=BODY)

    detail = refused.headers["X-Error-Detail"]
    assert detail.endswith("Shorten the text to 8192 bytes in UTF-8.")


def test_a_wrong_key_proves_nothing_however_large_the_request_is(site: Site):
    refused = post(site, keys.mint(), QWEN_CODE, content=BODY)

    assert refused.status_code == 401
    assert "Qwen Code" not in refused.headers["X-Error-Detail"]
