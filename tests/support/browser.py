"""A browser for a running cabinet's pages, and codes from an authenticator app."""

import base64
import hmac
import re
import time
from http.cookiejar import CookieJar
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

from tests.support.waiting import PATIENCE

APP = "/account/second-factor/totp/activate/"
CHALLENGE = "/account/second-factor/authenticate/"


class Browser:
    """A browser with cookies and without JavaScript."""

    def __init__(self, origin: str, language: str = "en") -> None:
        self._origin = origin
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self._opener.addheaders = [("Accept-Language", language)]
        self.path = ""
        """The path of the last page, after redirects."""

    def get(self, path: str) -> str:
        return self._fetch(Request(self._origin + path))

    def post(self, path: str, **fields: str) -> str:
        return self.submit(path, self.get(path), **fields)

    def submit(self, path: str, page: str, **fields: str) -> str:
        """Send the form of a page that was opened at this path."""
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)
        assert token
        data = urlencode({"csrfmiddlewaretoken": token[1], **fields}).encode()
        return self._fetch(
            Request(self._origin + path, data, {"Referer": self._origin + path})
        )

    def _fetch(self, request: Request) -> str:
        with self._opener.open(request, timeout=PATIENCE) as answer:
            self.path = urlsplit(answer.url).path
            return str(answer.read().decode())

    def log_in(self, email: str, password: str) -> str:
        return self.post("/accounts/login/", login=email, password=password)

    def add_app(self) -> str:
        """Add an authenticator app; return its secret."""
        page = self.get(APP)
        found = re.search(r'id="authenticator_secret" value="([A-Z2-7]+)"', page)
        assert found
        self.submit(APP, page, code=code(found[1], 0))
        return found[1]


def code(secret: str, later: int) -> str:
    """Return the code (RFC 6238) of the current period, or of a later one."""
    counter = int(time.time()) // 30 + later
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, counter.to_bytes(8), "sha1")
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"
