"""The cabinet's metrics: their values, and who can read them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.models import F
from django.test import Client, override_settings

from readback.cabinet.mail import outbox
from readback.cabinet.models import LastBackup, OutgoingMail
from tests.cabinet.visitor import words_of
from tests.cabinet.which_database import BOTH, ON_SQLITE

DATABASES = BOTH


TOKEN = "a token for the tests".replace(" ", "-")
HOST_NAME = "127.0.0.1:8001"
WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(autouse=True)
def configured(database) -> Iterator[None]:
    with override_settings(CONFIG=replace(settings.CONFIG, metrics_token=TOKEN)):
        yield


def read(headers: dict[str, str] = WITH_TOKEN) -> tuple[int, str]:
    # In the Host header, Prometheus sends the address to which it connects.
    client = Client(headers={"host": "10.0.0.5:8001", **headers})
    response = client.get("/metrics")
    return response.status_code, response.content.decode()


def values() -> dict[str, float]:
    _status, text = read()
    return {
        name: float(value)
        for name, value in re.findall(r"^(readback_\S+) (\S+)$", text, re.MULTILINE)
    }


def test_the_metrics_tell_what_waits_and_what_became_of_the_rest():
    assert values() == {
        "readback_mails_waiting": 0,
        "readback_oldest_mail_age_seconds": 0,
        "readback_cabinet_database_up": 1,
        'readback_mails_total{outcome="sent"}': 0,
        'readback_mails_total{outcome="refused"}': 0,
        'readback_mails_total{outcome="expired"}': 0,
    }

    for _ in range(2):
        outbox.add(
            "account/email/account_deleted", "alice@example.org", timedelta(days=1)
        )
    OutgoingMail.objects.update(created_at=F("created_at") - timedelta(minutes=5))
    outbox.finish(outbox.claim(), outbox.MailOutcome.REFUSED)

    found = values()
    assert found["readback_mails_waiting"] == 1
    assert 300 <= found["readback_oldest_mail_age_seconds"] < 360
    assert found['readback_mails_total{outcome="refused"}'] == 1


def test_the_time_of_the_last_backup_is_shown():
    LastBackup.objects.create(at=datetime(2026, 11, 17, tzinfo=UTC))
    assert values()["readback_last_backup_timestamp_seconds"] == 1_794_873_600


WRONG = [
    "",
    "Bearer",
    "Bearer ",
    TOKEN,
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN.upper()}",
    "Bearer \u00e4\u00f6\u00fc",
]


@ON_SQLITE
def test_without_the_token_there_is_no_such_page():
    """Requests from this machine also need the token: a proxy may have sent them on."""
    for wrong in WRONG:
        client = Client(headers={"host": HOST_NAME, "authorization": wrong})
        page = client.get("/metrics")
        other = client.get("/no-such-page")

        assert page.status_code == other.status_code == 404, wrong
        assert words_of(page) == words_of(other)
    # An unknown host name is refused, as on every page.
    assert read({})[0] == 400


@ON_SQLITE
def test_without_the_setting_there_are_no_metrics():
    with override_settings(CONFIG=replace(settings.CONFIG, metrics_token="")):
        for headers in ({}, WITH_TOKEN, {"authorization": "Bearer "}):
            assert read({**headers, "host": HOST_NAME})[0] == 404


def test_without_the_database_the_rest_is_still_shown(monkeypatch):
    def fail():
        raise OperationalError("the database is gone")

    monkeypatch.setattr(outbox, "waiting", fail)

    assert values() == {"readback_cabinet_database_up": 0}
