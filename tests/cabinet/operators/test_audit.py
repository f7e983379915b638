"""The audit trail: filters, and files with what they find."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from readback.cabinet.accounts.invitations import invitation_create
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import User
from tests.cabinet.operators.test_admin import OPERATOR, act, operator
from tests.cabinet.owners import ALICE
from tests.cabinet.single_sign_on.test_single_sign_on import age_session
from tests.cabinet.visitor import Visitor, text_of, words_of

__all__ = ["operator"]
DATABASES = ["sqlite"]
LIST = "/admin/admin/logentry/"
FIELDS = ["time", "by", "by_id", "object_type", "object_id", "object", "change"]

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture
def entries(operator, alice) -> None:
    key = key_services.key_create(alice, "laptop").key
    act(operator, "key", "revoke", key.pk)
    act(operator, "user", "deactivate", alice.pk)
    LogEntry.objects.filter(object_id=str(key.pk), content_type__model="key").update(
        action_time=timezone.now() - timedelta(days=10)
    )


def downloaded(operator: Visitor, extension: str, query: str = "") -> str:
    answer = operator.get(f"{LIST}download.{extension}{query}")
    assert answer.status_code == 200, answer
    assert f".{extension}" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def test_the_list_is_filtered_and_downloaded_as_it_is_shown(operator, entries):
    page = operator.get(f"{LIST}?object=account&time=7")
    assert "Deactivated" in words_of(page) and "Revoked" not in words_of(page)
    assert "download.csv?object=account&amp;time=7" in text_of(page)

    rows = [
        json.loads(line)
        for line in downloaded(operator, "jsonl", "?object=account&time=7").splitlines()
    ]
    assert [list(row) for row in rows] == [FIELDS]
    assert (rows[0]["by"], rows[0]["object"]) == (OPERATOR, ALICE)
    everything = list(csv.DictReader(io.StringIO(downloaded(operator, "csv"))))
    assert [row["change"] for row in everything] == ["Deactivated", "Revoked"]
    searched = downloaded(operator, "jsonl", "?q=sk-echo")
    assert "Revoked" in searched and "Deactivated" not in searched
    assert operator.get(f"{LIST}download.exe").status_code == 404


def test_no_cell_of_the_file_is_a_formula(operator):
    for address in ("=cmd@example.org", "+1@example.org", "-1@example.org"):
        invitation_create(address)
    User.objects.update(email="=operator@example.org")
    LogEntry.objects.log_actions(
        User.objects.get().pk, User.objects.all(), 2, "@SUM(1)"
    )

    [row] = csv.DictReader(io.StringIO(downloaded(operator, "csv")))
    assert row["by"] == row["object"] == "'=operator@example.org"
    assert row["change"] == "'@SUM(1)"


def test_only_operators_with_a_recent_login_download(operator, entries):
    assert Visitor().get(f"{LIST}download.csv").status_code == 302
    age_session(operator, 3600)
    asked = operator.get(f"{LIST}download.csv")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    User.objects.filter(email=OPERATOR).update(is_superuser=False)
    age_session(operator, 0)
    assert operator.get(f"{LIST}download.csv").status_code == 403
