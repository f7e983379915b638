"""A real OpenID Connect provider on loopback, and people who log in there."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import requests

from tests.support.commands import free_port
from tests.support.oidc_provider_process import CLIENT_ID, CLIENT_SECRET, PASSWORD
from tests.support.waiting import PATIENCE, wait_until


@dataclass(frozen=True)
class Provider:
    issuer: str
    client_id: str = CLIENT_ID
    client_secret: str = CLIENT_SECRET
    password: str = PASSWORD

    def allow(self, return_url: str) -> None:
        """Register the client with the URL to which a login returns."""
        self._prepare(return_url=return_url)

    def add(self, name: str, email: str = "", *, verified: bool = True) -> None:
        """Add a person, or change a person's address."""
        self._prepare(name=name, email=email, verified=verified)

    def log_in(self, name: str, url: str) -> str:
        """Log in at the URL to which the client redirects; return the redirect back."""
        with requests.Session() as browser:
            browser.get(f"{self.issuer}/enter/{name}").raise_for_status()
            sent = browser.get(url, allow_redirects=False)
            if "reauthenticate" in sent.headers["Location"]:
                page = browser.get(urljoin(url, sent.headers["Location"]))
                sent = _send_password(browser, page)
                after = urljoin(url, sent.headers["Location"])
                sent = browser.get(after, allow_redirects=False)
            return sent.headers["Location"]

    def _prepare(self, **wanted: object) -> None:
        requests.post(f"{self.issuer}/prepare", json=wanted).raise_for_status()


def _send_password(
    browser: requests.Session, page: requests.Response
) -> requests.Response:
    """Send the form that asks for the password again; do not follow the redirect."""
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token, page.text
    [after] = parse_qs(urlsplit(page.url).query)["next"]
    fields = {"csrfmiddlewaretoken": token[1], "password": PASSWORD, "next": after}
    return browser.post(page.url, data=fields, allow_redirects=False)


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
    except requests.RequestException:  # not yet, or the machine is busy
        return False
