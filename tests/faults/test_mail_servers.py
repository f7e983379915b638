"""Pages, commands and startup do not wait for a mail server that is down or slow."""

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.faults.serving import first_start
from tests.support.bad_mail_servers import (
    DRIP_SECONDS,
    server_that_is_down,
    silent_server,
)
from tests.support.browser import Browser
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.commands import run_readback
from tests.support.mailbox import Mailbox, link_in, mailbox
from tests.support.processes import has_ended
from tests.support.server import EMAIL
from tests.support.waiting import PATIENCE, wait_until

SIGN_UP, PASSWORD = "/accounts/signup/", "a lamp in the harbour"
AT_ONCE_SECONDS = 9.0
"""A page that waited for a silent mail server would take ten seconds."""


def sign_up(cabinet: CabinetServer, email: str) -> float:
    """Sign up and return how many seconds the answer took."""
    browser = Browser(cabinet.url)
    form = browser.get(SIGN_UP)
    begun = time.monotonic()
    browser.submit(SIGN_UP, form, email=email, password1=PASSWORD)
    assert browser.path == "/accounts/confirm-email/"
    return time.monotonic() - begun


def confirm(cabinet: CabinetServer, mails: Mailbox, email: str) -> None:
    """Open the link in the e-mail and press the button."""
    link = link_in(mails.wait_for(email, "Confirm"))
    browser = Browser(cabinet.url)
    browser.post(urlsplit(link).path)
    assert browser.path == "/accounts/login/"


def create_key(environment: Mapping[str, str], email: str) -> None:
    """Create an account and a key with commands."""
    run_readback(environment, "account", "create", email, "--confirmed")
    created = run_readback(environment, "key", "create", email)
    assert created.stdout.startswith("sk-echo-")


@pytest.mark.parametrize("interval", [None, DRIP_SECONDS], ids=["silent", "dripping"])
def test_pages_and_commands_do_not_wait_for_their_mail(
    tmp_path: Path, interval: float | None
) -> None:
    with (
        silent_server(interval) as mail_server,
        cabinet_server(tmp_path, {"READBACK_SMTP_URL": mail_server.url}) as cabinet,
    ):
        # One by one, because several password hashes at once are slow anyway.
        waits = [sign_up(cabinet, f"alice{n}@example.org") for n in range(3)]
        assert max(waits) < AT_ONCE_SECONDS, waits
        wait_until(lambda: mail_server.connections, "a sender hangs")
        for path in ("/healthz", "/accounts/login/", "/"):
            begun = time.monotonic()
            assert httpx.get(cabinet.url + path, timeout=PATIENCE).status_code == 200
            assert time.monotonic() - begun < AT_ONCE_SECONDS, path
        create_key(cabinet.environment, EMAIL)
        begun = time.monotonic()
    assert time.monotonic() - begun < 2 * AT_ONCE_SECONDS, "the stop takes too long"


def test_the_first_start_mails_nothing_to_its_local_account(tmp_path: Path) -> None:
    with mailbox() as mails:
        settings = {"READBACK_SMTP_URL": mails.url}
        with first_start(tmp_path, settings) as environment:
            create_key(environment, EMAIL)
            mails.wait_for(EMAIL, "New key")
    assert {mail["X-RcptTo"] for mail in mails.messages} == {EMAIL}


@pytest.mark.parametrize("is_sending", [False, True], ids=["waiting", "being sent"])
def test_a_mail_survives_the_death_of_the_cabinet(
    tmp_path: Path, is_sending: bool
) -> None:
    with server_that_is_down() as down, silent_server() as silent:
        settings = {"READBACK_SMTP_URL": silent.url if is_sending else down}
        with cabinet_server(tmp_path, settings) as cabinet:
            sign_up(cabinet, EMAIL)
            if is_sending:
                wait_until(lambda: silent.connections, "the sender has the mail")
            cabinet.kill()
            wait_until(lambda: has_ended(cabinet.pid), "the cabinet is dead")
    end_the_claim(tmp_path)

    with (
        mailbox() as mails,
        cabinet_server(tmp_path, {"READBACK_SMTP_URL": mails.url}) as cabinet,
    ):
        confirm(cabinet, mails, EMAIL)
        assert len(mails.to(EMAIL)) == 1


def end_the_claim(folder: Path) -> None:
    """Skip the minute during which only one sender may send an e-mail."""
    path = folder / "data" / "readback.sqlite3"
    with closing(sqlite3.connect(path)) as database, database:
        update = (
            "UPDATE cabinet_outgoingmail SET due_at = datetime(due_at, '-60 seconds')"
        )
        assert database.execute(update).rowcount == 1
