"""Somebody with a browser: loads a page, fills its form in, sends it.

The token of a form is taken from the page as a browser does, and CSRF checks are on,
so that what works here works there. An exception in a page fails the test.
"""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

PASSWORD = "a lamp in the harbour"
# Where the cabinet is when nothing is set.
HOST, PORT = "127.0.0.1", "8001"
CABINET = f"http://{HOST}:{PORT}"


class Visitor:
    def __init__(self, language: str = "en", address: str = "203.0.113.7") -> None:
        self.client = Client(
            enforce_csrf_checks=True,
            headers={"accept-language": language},
            REMOTE_ADDR=address,
            SERVER_NAME=HOST,
            SERVER_PORT=PORT,
        )

    def get(self, url: str, **extra: Any) -> Any:
        return self.client.get(url.removeprefix(origin_of(url)), **extra)

    def send(
        self,
        url: str,
        fields: Mapping[str, str] | None = None,
        *,
        page: str = "",
        **extra: Any,
    ) -> Any:
        """Load the page that has the form, and post the form to the URL."""
        path = url.removeprefix(origin_of(url))
        loaded = self.get(page or path, **extra)
        form = {"csrfmiddlewaretoken": token_in(text_of(loaded)), **(fields or {})}
        return self.client.post(path, form, **extra)

    def sign_up(self, email: str, password: str = PASSWORD) -> Any:
        return self.send("/accounts/signup/", {"email": email, "password1": password})

    def log_in(self, email: str, password: str = PASSWORD, **extra: Any) -> Any:
        fields = {"login": email, "password": password}
        return self.send("/accounts/login/", fields, **extra)

    @property
    def is_logged_in(self) -> bool:
        return self.get("/account/").status_code == 200


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def text_of(answer: Any) -> str:
    return answer.content.decode()


def words_of(answer: Any) -> str:
    """The words of a page, without its markup, in one line."""
    without_tags = re.sub(r"<[^>]*>", " ", text_of(answer))
    return " ".join(unescape(without_tags).split())


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, "the page has no form"
    return found[1]
