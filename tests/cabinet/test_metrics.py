"""The cabinet's metrics: their values, their documentation, and who can read them."""

import re
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models import F
from django.test import Client

from readback.cabinet import outbox
from readback.cabinet.models import OutgoingMail
from tests.cabinet.which_database import ON_SQLITE

pytestmark = pytest.mark.usefixtures("database")


def read(peer: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    # Prometheus sends the address that it connects to as the host.
    client = Client(headers={"host": "10.0.0.5:8001", **headers}, REMOTE_ADDR=peer)
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
        'readback_mails_total{outcome="unneeded"}': 0,
    }

    for _ in range(2):
        outbox.add("account/email/key_created", "alice@example.org", timedelta(days=1))
    OutgoingMail.objects.update(created_at=F("created_at") - timedelta(minutes=5))
    outbox.finish(outbox.claim(), outbox.MailOutcome.REFUSED)

    found = values()
    assert found["readback_mails_waiting"] == 1
    assert 300 <= found["readback_oldest_mail_age_seconds"] < 360
    assert found['readback_mails_total{outcome="refused"}'] == 1


@ON_SQLITE
@pytest.mark.parametrize("peer", ["127.0.0.1", "10.1.2.3", "100.64.0.1", "fd00::1", ""])
def test_a_direct_connection_from_a_private_network_reads_them(peer):
    assert read(peer)[0] == 200


@ON_SQLITE
@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("8.8.8.8", {}),
        ("::ffff:8.8.8.8", {}),
        ("2a00:1450::1", {}),
        ("127.0.0.1", {"x-forwarded-for": "8.8.8.8"}),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}),
    ],
)
def test_the_public_does_not(peer, headers):
    status, text = read(peer, **headers)

    assert status in (400, 404)
    assert "readback_mails" not in text


def test_without_the_database_the_rest_is_still_shown(monkeypatch):
    def fail():
        raise OperationalError("the database is gone")

    monkeypatch.setattr(outbox, "waiting", fail)

    assert values() == {"readback_cabinet_database_up": 0}
