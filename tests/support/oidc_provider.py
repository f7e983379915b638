"""A real OpenID Connect provider on loopback, and people who use it with a browser."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import requests

from tests.support.commands import free_port
from tests.support.oidc_provider_process import CLIENT_ID, CLIENT_SECRET, PASSWORD
from tests.support.waiting import wait_until

PATIENCE = 60.0


@dataclass(frozen=True)
class Provider:
    issuer: str
    client_id: str = CLIENT_ID
    client_secret: str = CLIENT_SECRET
    password: str = PASSWORD

    def allow(self, *return_urls: str, client_id: str = CLIENT_ID) -> None:
        """Register the client with the URLs to which a login may return."""
        self._prepare(clients={client_id: return_urls})

    def add(self, name: str, email: str = "", *, verified: bool = True) -> None:
        """Add a person, or change the address of one."""
        self._prepare(people={name: {"email": email, "verified": verified}})

    def log_in(self, name: str, url: str) -> str:
        """Log in where the client sent the browser; return where that is sent back."""
        with requests.Session() as browser:
            page = browser.get(url)
            fields = {"login": name, "password": PASSWORD}
            sent = _send_form(browser, page, fields)
            while urlsplit(sent.headers["Location"]).netloc in ("", self._host):
                sent = browser.get(
                    self.issuer + _path(sent.headers["Location"]),
                    allow_redirects=False,
                )
            return sent.headers["Location"]

    @property
    def _host(self) -> str:
        return urlsplit(self.issuer).netloc

    def _prepare(self, **wanted: object) -> None:
        requests.post(f"{self.issuer}/prepare", json=wanted).raise_for_status()


def _send_form(
    browser: requests.Session, page: requests.Response, fields: dict[str, str]
) -> requests.Response:
    """Send the form of a page with its hidden fields, without following redirects."""
    pattern = r'<input type="hidden" name="(\w+)" value="([^"]*)"'
    hidden = dict(re.findall(pattern, page.text))
    query = parse_qs(urlsplit(page.url).query)
    hidden["next"] = query["next"][0]
    return browser.post(page.url, data=hidden | fields, allow_redirects=False)


def _path(location: str) -> str:
    parts = urlsplit(location)
    return f"{parts.path}?{parts.query}"


@contextmanager
def oidc_provider() -> Iterator[Provider]:
    port = free_port()
    module = "tests.support.oidc_provider_process"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", module, str(port), folder],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        provider = Provider(f"http://127.0.0.1:{port}")
        try:
            wait_until(
                lambda: _answers(provider) or process.poll() is not None,
                lambda: f"the provider answers: {log.read_text()}",
                PATIENCE,
            )
            assert process.poll() is None, log.read_text()
            yield provider
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _answers(provider: Provider) -> bool:
    try:
        url = f"{provider.issuer}/.well-known/openid-configuration"
        return requests.get(url, timeout=5).ok
    except requests.ConnectionError:
        return False
