"""A web page calls the API: the browser blocks it, as docs/connect.md shows."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.peers import serving
from tests.support.server import Server

PAGE = Path(__file__).parents[2] / "docs" / "connect.md"
CALL = """async ([url, key]) => {
    const headers = {
        "Authorization": `Bearer ${key}`,
        "Content-Type": "application/json",
    };
    try {
        return (await fetch(url, {method: "POST", headers, body: "{}"})).status;
    } catch (error) {
        return String(error);
    }
}"""


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def other_origin() -> Iterator[str]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), _EmptyPage)
    with serving(site):
        yield f"http://127.0.0.1:{site.server_port}"


def test_the_console_says_what_the_documentation_shows(
    browser: Browser, server: Server, other_origin: str
):
    url = f"{server.base_url}/chat/completions"
    console: list[str] = []
    with browser.new_page() as page:
        page.on("console", lambda message: console.append(message.text))
        page.goto(other_origin)
        with page.expect_console_message(lambda one: "ERR_FAILED" in one.text):
            result = page.evaluate(CALL, [url, server.api_key])

    shown = " ".join(PAGE.read_text(encoding="utf-8").split())
    lines = [
        line.replace(url, "https://api.example.com/v1/chat/completions")
        .replace(other_origin, "https://app.example.com")
        .strip()
        for line in console
    ]
    assert len(lines) == 2
    assert [line for line in lines if line not in shown] == []
    assert result == "TypeError: Failed to fetch" and result in shown
