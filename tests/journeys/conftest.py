"""A running service, a mail server, and a Chromium whose errors fail the test.

All journeys share them. Each test has its own browser contexts, which share only the
clipboard.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.journeys.person import PASSWORD, Person
from tests.support.mailbox import Mailbox, mailbox
from tests.support.programs import needed_program
from tests.support.server import Server, ephemeral_server

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
DESKTOP = {"width": 1280, "height": 800}
# Only failing tests wait this long.
TIMEOUT_MS = 60_000
expect.set_options(timeout=TIMEOUT_MS)
# A page that does not exist; its error in the console is expected.
MISSING = "/nothing-here"

_ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_HAS_FAILED = pytest.StashKey[bool]()

Open = Callable[..., Page]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember whether a test failed, for `open_page`."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.fixture(scope="package")
def mails() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture(scope="package")
def server(
    mails: Mailbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with ephemeral_server(folder, {"READBACK_SMTP_URL": mails.url}) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("READBACK_TEST_CHROMIUM") or needed_program("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=_ARGUMENTS, timeout=TIMEOUT_MS
        )
        yield launched
        launched.close()


@pytest.fixture
def open_page(
    browser: Browser, server: Server, request: pytest.FixtureRequest
) -> Iterator[Open]:
    """Open a page in a new browser context with the given options.

    Console errors and warnings (such as a failing script or a blocked resource) and
    requests to other origins fail the test at its end. If the test has failed, a
    picture of each page is saved in the folder screenshots/.
    """
    contexts, problems = [], []

    def watch_console(message: Any) -> None:
        if MISSING in message.location["url"]:
            return
        if message.type in ("error", "warning"):
            problems.append(message.text)

    def open_page(origin: str = server.cabinet_url, **options: Any) -> Page:
        def watch_request(request: Any) -> None:
            if not request.url.startswith(origin):
                problems.append(f"request to {request.url}")

        context = browser.new_context(
            **{"base_url": origin, "viewport": DESKTOP, "locale": "en-GB"} | options
        )
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(TIMEOUT_MS)
        context.on("request", watch_request)
        context.on("console", watch_console)
        return context.new_page()

    yield open_page
    for number, context in enumerate(contexts):
        if request.node.stash.get(_HAS_FAILED, False):
            name = re.sub(r"\W+", "-", request.node.name).strip("-")
            for page in context.pages:
                page.screenshot(path=SCREENSHOTS / f"{name}-{number}.png")
        context.close()
    assert not problems


@pytest.fixture
def a_person(open_page: Open, server: Server, mails: Mailbox) -> Callable[..., Person]:
    """Return a person with a browser and a mailbox, but without an account."""

    def a_person(**options: Any) -> Person:
        return Person(open_page(**options), server, mails, _new_address())

    return a_person


# Most journeys start logged in, because only twenty sign-ups a minute are allowed from
# one address, and other journeys test the login.
_LOG_IN = """
from readback.cabinet.accounts.passwords import Argon2Hasher
from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest
from readback.cabinet.accounts import services
from readback.cabinet.storage.sealing import SessionStore
Argon2Hasher.memory_cost = 1024  # the first login stores a proper hash
for email in {emails}:
    request = HttpRequest()
    request.session = SessionStore()
    login(request, services.account_create(email, {password!r}, confirmed=True))
    request.session.save()
    cookie = request.session.session_key.cookie
    print("logged in", email, settings.SESSION_COOKIE_NAME, cookie)
"""


@pytest.fixture(scope="package")
def sessions(server: Server) -> Iterator[list[str]]:
    """New accounts, each with a session cookie; one command creates ten."""

    def sessions() -> Iterator[list[str]]:
        while True:
            emails = [_new_address() for _ in range(10)]
            code = _LOG_IN.format(emails=emails, password=PASSWORD)
            printed = server.run("manage", "shell", "-c", code).splitlines()
            made = [line.split()[2:] for line in printed if "logged in" in line]
            assert len(made) == len(emails), printed
            yield from made

    return sessions()


@pytest.fixture
def a_member(
    open_page: Open, server: Server, mails: Mailbox, sessions: Iterator[list[str]]
) -> Callable[..., Person]:
    """Return a person who is logged in to an account without keys."""

    def a_member(**options: Any) -> Person:
        email, cookie, value = next(sessions)
        page = open_page(**options)
        page.context.add_cookies(
            [{"name": cookie, "value": value, "url": server.cabinet_url}]
        )
        return Person(page, server, mails, email)

    return a_member


def _new_address() -> str:
    return f"alice-{token_hex(6)}@example.org"
