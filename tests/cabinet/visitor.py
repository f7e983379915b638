"""A test client that works like a browser: load a page, fill in its form, send it.

The form's token is taken from the page, and CSRF checks are on, as with a real browser.
Forms that are only an intermediate step, such as a login, are sent without loading
their page. An exception in a view fails the test.
"""

import re
import time
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.test import Client

from readback.cabinet.accounts.sessions import SESSION_STARTED
from readback.cabinet.storage.sealing import SessionKey, SessionStore

PASSWORD = "a lamp in the harbour"
# The cabinet's default address.
HOST, PORT = "127.0.0.1", "8001"
CABINET = f"http://{HOST}:{PORT}"


class Browser(Client):
    """Django's test client, for sessions whose cookie differs from the stored key."""

    @property
    def session(self) -> SessionStore:
        cookie = self.cookies[settings.SESSION_COOKIE_NAME].value
        return SessionStore(SessionKey(cookie))

    def force_login(self, user: Any, backend: str | None = None) -> None:
        request = HttpRequest()
        request.session = SessionStore()
        login(request, user, backend)
        request.session.save()
        self.cookies[settings.SESSION_COOKIE_NAME] = request.session.session_key.cookie


class Visitor:
    def __init__(self, language: str = "en", address: str = "203.0.113.7") -> None:
        self.client = Browser(
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
        """Load the page with the form, and post the form to the URL."""
        path = url.removeprefix(origin_of(url))
        loaded = self.get(page or path, **extra)
        form = {"csrfmiddlewaretoken": token_in(text_of(loaded)), **(fields or {})}
        return self.client.post(path, form, **extra)

    def post(
        self, url: str, fields: Mapping[str, str] | None = None, **extra: Any
    ) -> Any:
        """Post a form without loading its page; the CSRF cookie is a valid token."""
        cookies = self.client.cookies
        if settings.CSRF_COOKIE_NAME not in cookies:
            cookies[settings.CSRF_COOKIE_NAME] = "x" * CSRF_SECRET_LENGTH
        token = cookies[settings.CSRF_COOKIE_NAME].value
        form = {"csrfmiddlewaretoken": token, **(fields or {})}
        return self.client.post(url.removeprefix(origin_of(url)), form, **extra)

    def sign_up(self, email: str, password: str = PASSWORD) -> Any:
        return self.post("/accounts/signup/", {"email": email, "password1": password})

    def log_in(self, email: str, password: str = PASSWORD, **extra: Any) -> Any:
        fields = {"login": email, "password": password}
        return self.post("/accounts/login/", fields, **extra)

    def forget_login(self) -> None:
        """Make the login so old that the password is needed again."""
        session = self.client.session
        session[SESSION_STARTED] = time.time() - 3600
        session.save()

    @property
    def is_logged_in(self) -> bool:
        return self.get("/account/").status_code == 200


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def text_of(response: Any) -> str:
    return response.content.decode()


def words_of(response: Any) -> str:
    """Return the text of a page in one line, without markup."""
    without_data = re.sub(r"<script\b.*?</script>", " ", text_of(response), flags=re.S)
    without_tags = re.sub(r"<[^>]*>", " ", without_data)
    return " ".join(unescape(without_tags).split())


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, "the page has no form"
    return found[1]
