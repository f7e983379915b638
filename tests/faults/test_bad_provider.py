"""An identity provider that never answers delays only a few of its visitors."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support import bad_oidc_providers
from tests.support.bad_oidc_providers import DISCOVERY, TOKEN, BadProvider, bad_provider
from tests.support.browser import Browser
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.forms import LOGIN, filled, send
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Answer

PASSWORD = "a sentence that is long"
PRESS, CALLBACK = "/accounts/oidc/login/", "/accounts/oidc/callback/"
WAITING = 30
# A few visitors wait for the provider; all others are told to come back. If they queued
# instead, a login would wait until each of them had asked the provider.
MOST_ASKED = 15


@contextmanager
def cabinet_with(provider: BadProvider, folder: Path) -> Iterator[CabinetServer]:
    settings = {
        "READBACK_OIDC_ISSUER": provider.issuer,
        "READBACK_OIDC_CLIENT_ID": "readback",
        "READBACK_OIDC_CLIENT_SECRET": "only-for-tests",
        # Gives each visitor its own address, so that no limit is reached.
        "READBACK_TRUSTED_PROXY_COUNT": "1",
    }
    with cabinet_server(folder, settings) as cabinet:
        create = ("account", "create", "alice@example.org", "--confirmed")
        cabinet.run(*create, "--password-stdin", stdin=PASSWORD)
        yield cabinet
        assert "Traceback" not in cabinet.stderr


def anonymous(cabinet: CabinetServer, number: int) -> httpx.Client:
    headers = {"X-Forwarded-For": f"192.0.2.{number}"}
    # Without `verify`, each client would read all root certificates.
    return httpx.Client(
        base_url=cabinet.url, headers=headers, timeout=PATIENCE, verify=False
    )


def judge(answers: list[Answer]) -> None:
    """Check that visitors got an error, and that most were told when to try again."""
    assert {answer.status for answer in answers} == {502}
    told = Counter(answer.header("Retry-After") for answer in answers)
    assert told.keys() == {None, "5"} and told[None] <= MOST_ASKED


KINDS = ["silent", "dripping_head", "dripping_body"]


def press_button(visitor: httpx.Client) -> httpx.Request:
    return filled(visitor, PRESS)


def come_back(visitor: httpx.Client) -> httpx.Request:
    """Press the button, and return the request to which the provider redirects."""
    away = visitor.send(press_button(visitor))
    state = re.search(r"state=(\w+)", away.text)
    assert state, away.text
    query = {"code": "any", "state": state[1]}
    return visitor.build_request("GET", CALLBACK, params=query)


@pytest.mark.parametrize(
    ("endpoint", "path", "kind", "made_by"),
    [
        *(("discovery", DISCOVERY, kind, press_button) for kind in KINDS),
        ("token", TOKEN, "silent", come_back),
        ("token", TOKEN, "dripping_body", come_back),
    ],
)
def test_a_password_login_does_not_wait_for_those_who_wait_for_the_provider(
    endpoint, path, kind, made_by, tmp_path
):
    answer = {endpoint: getattr(bad_oidc_providers, kind)}
    with (
        bad_provider(**answer) as provider,
        cabinet_with(provider, tmp_path) as cabinet,
        ExitStack() as stack,
    ):
        visitors = [
            stack.enter_context(anonymous(cabinet, number)) for number in range(WAITING)
        ]
        requests = [made_by(visitor) for visitor in visitors]
        # All visitors together have caused one request for this document, or none.
        assert provider.requests[DISCOVERY] == (endpoint == "token")
        alice = Browser(cabinet.url)
        page = alice.get(LOGIN)
        waiting = [send(stack, request) for request in requests]
        wait_until(lambda: provider.requests[path], "one waits for the provider")

        fields = {"login": "alice@example.org", "password": PASSWORD}
        alice.submit(LOGIN, page, **fields)

        assert alice.path == "/keys/"
        assert provider.requests[path] <= MOST_ASKED
        judge([each.read_answer() for each in waiting])
