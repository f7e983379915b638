"""The steps that a person takes in the browser.

Elements are found by structure, not by text, so that the steps work in every language.
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect

from tests.support.mailbox import Mailbox, link_in
from tests.support.server import Server
from tests.support.waiting import wait_until

PASSWORD = "a lamp in the harbour"
MODEL = "vendor-cabinet-preview-echo"
TEXT = "Приём. Ready to copy? ✓"


@dataclass
class Person:
    page: Page
    server: Server
    mails: Mailbox
    email: str
    key: str = ""

    def send_form(self, **fields: str) -> None:
        """Fill in the form on the page and press its button."""
        main = self.page.locator("main")
        for name, value in fields.items():
            main.locator(f"[name={name}]").fill(value)
        main.locator("form button:not([type=button])").first.click()

    def sign_up(self) -> None:
        self.page.goto("/accounts/signup/")
        self.send_form(email=self.email, password1=PASSWORD)
        self.page.wait_for_url("**/accounts/confirm-email/")
        # Use only the path, because the person may use another host name.
        self.page.goto(urlsplit(link_in(self.mails.wait_for(self.email))).path)
        self.send_form()
        self.page.wait_for_url("**/keys/")

    def log_out(self) -> None:
        self.page.locator("header form button").click()
        expect(self.page.locator(".messages")).to_be_visible()

    def log_in(self, password: str = PASSWORD) -> None:
        self.page.goto("/accounts/login/")
        self.send_form(login=self.email, password=password)

    def create_key(self, name: str = "laptop") -> None:
        """Create a key and copy it with the button on the page."""
        self.page.goto("/keys/")
        self.send_form(label=name)
        self.page.wait_for_url("**/keys/*/new/")
        self.page.locator(".secret [data-copy]").click()
        self.key = self.page.locator("#key").inner_text()
        # The clipboard may still contain what another page copied.
        wait_until(lambda: self.clipboard() == self.key, "the key has been copied")

    def clipboard(self) -> str:
        return self.page.evaluate("navigator.clipboard.readText()")

    @property
    def key_path(self) -> str:
        """The URL of the key's page, while the page of the new key is open."""
        return self.page.url.removesuffix("new/")

    def shown_address(self) -> str:
        return self.page.locator("#api-address").inner_text()

    def send_request(
        self, path: str = "/chat/completions", **fields: Any
    ) -> tuple[int, Any]:
        """Send the text to the address on the page; return the status and the body."""
        message = {"role": "user", "content": TEXT}
        body = {"model": MODEL, "messages": [message], **fields}
        request = Request(
            self.shown_address() + path,
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
                "User-Agent": "journey/1.0",
            },
        )
        try:
            with urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except HTTPError as refusal:
            with refusal:
                return refusal.code, json.load(refusal)

    def expect_to_see(self, words: str) -> None:
        expect(self.page.locator("main")).to_contain_text(words)

    def expect_no_sideways_scrolling(self) -> None:
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.page.viewport_size["width"], self.page.url
