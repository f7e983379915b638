"""Rate limits per client address and per account, shared by all workers."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.error import HTTPError

import pytest
from allauth.account import app_settings
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext

from readback.cabinet.models import CacheEntry
from readback.cabinet.serving import visitors
from tests.cabinet.accounts.factors import PASSKEY_LOGIN
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.visitor import Visitor, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support.browser import Browser
from tests.support.cabinet_server import cabinet_server

ALICE = "alice@example.org"
WRONG = "not the password at all"

pytestmark = pytest.mark.usefixtures("unsent_mails")


def statuses(visitor: Visitor, email: str, times: int) -> list[int]:
    return [visitor.log_in(email, WRONG).status_code for _ in range(times)]


def test_a_stranger_has_five_wrong_passwords_for_an_account_in_five_minutes(
    alice, clock
):
    mallory = Visitor()
    assert statuses(mallory, ALICE, 6) == [200] * 5 + [429]

    refused = mallory.log_in(ALICE)
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "300"
    assert "Too many attempts" in words_of(refused)
    clock[0] += 301
    mallory.log_in(ALICE)
    assert mallory.is_logged_in


def test_the_right_password_for_an_unconfirmed_address_counts_as_wrong(alice):
    new = "new@example.org"
    EmailAddress.objects.create(user=alice, email=new)
    visitor = Visitor()

    answers = [visitor.log_in(new).status_code for _ in range(6)]

    assert answers == [200] * 5 + [429]
    assert not visitor.is_logged_in


def test_strangers_do_not_lock_the_owner_out(alice):
    for network in range(10):
        statuses(Visitor(address=f"203.0.113.{network}"), ALICE, 2)
    statuses(Visitor(address="203.0.113.66"), ALICE, 6)

    owner = Visitor(address="198.51.100.4")
    owner.log_in(ALICE)
    assert owner.is_logged_in


def test_the_addresses_of_an_ipv6_network_count_together(alice):
    seen = [
        Visitor(address=f"2001:db8::{n}").log_in(ALICE, WRONG).status_code
        for n in range(6)
    ]
    assert seen == [200] * 5 + [429]
    assert Visitor(address="2001:db8:1::1").log_in(ALICE).status_code == 302


def test_a_client_address_allows_ten_wrong_passwords_a_minute(alice, clock):
    mallory = Visitor()
    seen = [
        mallory.log_in(f"nobody{n}@example.org", WRONG).status_code for n in range(11)
    ]
    assert seen == [200] * 10 + [429]

    clock[0] += 61
    assert mallory.log_in("nobody@example.org", WRONG).status_code == 200


def test_sign_ups_and_logins_are_limited_per_client_address():
    limits = {
        "/accounts/signup/": ({"email": "", "password1": ""}, 20),
        "/accounts/login/": ({"login": "", "password": ""}, 30),
    }
    for path, (fields, limit) in limits.items():
        visitor = Visitor()
        seen = [visitor.post(path, fields).status_code for _ in range(limit + 1)]
        assert seen == [200] * limit + [429], path


def test_the_limits_that_allauth_sets_itself_are_those_in_the_docs():
    documented = {
        "login": "30/m/ip",
        "signup": "20/m/ip",
        "confirm_email": "1/180s/key",
        "reset_password": "20/m/ip,5/m/key",
        "reset_password_from_key": "20/m/ip",
        "reauthenticate": "10/m/user",
        "change_password": "5/m/user",
        "manage_email": "10/m/user",
    }
    assert documented.items() <= app_settings.RATE_LIMITS.items()


@ON_BOTH
def test_a_request_above_a_limit_writes_nothing(clock):
    """A flood must neither write to the disk nor wait for SQLite's write lock."""
    fields = {
        "/accounts/signup/": {"email": "", "password1": ""},
        "/accounts/login/": {"login": "", "password": ""},
        PASSKEY_LOGIN: {"credential": ""},
    }
    for path, form in fields.items():
        visitor = Visitor()
        seen = [visitor.post(path, form).status_code for _ in range(31)]
        assert seen[-1] == 429, path
        with CaptureQueriesContext(connection) as queries:
            assert visitor.post(path, form).status_code == 429
        assert queries.captured_queries
        for query in queries:
            assert query["sql"].startswith("SELECT"), (path, query["sql"])
        clock[0] += 61
        assert visitor.post(path, form).status_code != 429


def test_a_count_that_cannot_be_written_is_not_blamed_on_the_visitor():
    """tests/faults/database checks this with full disks and stopped servers."""
    form = ("/accounts/login/", {"login": "", "password": ""})
    failing = connection.execute_wrapper(_fail_to_write)
    with failing, pytest.raises(OperationalError):
        Visitor().post(*form)
    answer = Visitor().post(*form)
    assert answer.status_code == 200


def _fail_to_write(execute, sql, params, many, context):
    if sql.startswith(("INSERT", "UPDATE")):
        raise OperationalError("disk full")
    return execute(sql, params, many, context)


def test_resets_are_limited_per_client_address_and_per_account(mails):
    path = "/accounts/password/reset/"
    one = [Visitor().post(path, {"email": ALICE}).status_code for _ in range(6)]
    assert one == [302] * 5 + [429]
    wait_until_sent()
    assert len(mails.to(ALICE)) == 5

    rest = [
        Visitor().post(path, {"email": f"a{n}@example.org"}).status_code
        for n in range(15)
    ]
    assert rest[-1] == 429


def test_a_confirmation_mail_is_sent_once_in_three_minutes(mails, clock):
    visitor = Visitor()
    answer = visitor.sign_up(ALICE)
    assert "To get another e-mail, log in" in words_of(visitor.get(answer["Location"]))
    visitor.log_in(ALICE)
    wait_until_sent()
    assert len(mails.to(ALICE)) == 1

    clock[0] += 181
    Visitor().log_in(ALICE)
    wait_until_sent()
    assert len(mails.to(ALICE)) == 2


def test_a_password_reset_lifts_the_limit_of_its_account(alice, mails):
    from tests.cabinet.accounts.test_password_reset import NEW, ask, choose, link

    statuses(Visitor(), ALICE, 6)
    ask()
    choose(Visitor(), link(mails))

    owner = Visitor()
    owner.log_in(ALICE, NEW)
    assert owner.is_logged_in


def test_counts_are_in_the_database_and_survive_a_flood_of_entries(alice):
    statuses(Visitor(), ALICE, 5)
    for n in range(400):
        cache.set(f"flood-{n}", n)

    assert CacheEntry.objects.count() > 400
    assert Visitor().log_in(ALICE, WRONG).status_code == 429


def test_the_address_that_counts_is_what_the_proxies_of_the_setting_wrote():
    """`tests/unit/test_client_address.py` shows which address that is."""
    headers = {"x-forwarded-for": "192.0.2.66, 203.0.113.5", "x-real-ip": "192.0.2.66"}
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR="198.51.100.1")
    for proxies, address in ((0, "198.51.100.1"), (1, "203.0.113.5")):
        config = replace(settings.CONFIG, trusted_proxy_count=proxies)
        with override_settings(CONFIG=config):
            assert visitors.client_address(request) == address


def test_a_forged_forwarded_address_does_not_reset_the_count(alice):
    seen = []
    for n in range(11):
        forged = {"x-forwarded-for": f"192.0.2.{n}", "x-real-ip": f"192.0.2.{n}"}
        response = Visitor().log_in(f"nobody{n}@example.org", WRONG, headers=forged)
        seen.append(response.status_code)

    assert seen == [200] * 10 + [429]


def test_several_workers_count_together(tmp_path):
    workers = {"READBACK_CABINET_WORKERS": "3"}
    with cabinet_server(tmp_path, workers) as server, ThreadPoolExecutor(5) as pool:
        attempts = [pool.submit(_wrong_login, server.url, n) for n in range(20)]
        seen = [attempt.result() for attempt in attempts]

    # Ten attempts are allowed, and four more may pass, because five are made at once.
    # If the three workers counted separately, all of them would pass.
    assert set(seen) == {200, 429}
    assert seen.count(200) <= 14, seen


def _wrong_login(url: str, number: int) -> int:
    try:
        Browser(url).log_in(f"nobody{number}@example.org", WRONG)
    except HTTPError as refused:
        return refused.code
    return 200
