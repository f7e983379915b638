"""The audit trail and its filters."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from readback.cabinet.keys import services as key_services
from tests.cabinet.operators.test_admin import act
from tests.cabinet.visitor import words_of

DATABASES = ["sqlite"]
LIST = "/admin/admin/logentry/"

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture
def entries(operator, alice) -> None:
    key = key_services.key_create(alice, "laptop").key
    act(operator, "key", "revoke", key.pk)
    act(operator, "user", "deactivate", alice.pk)
    LogEntry.objects.filter(object_id=str(key.pk), content_type__model="key").update(
        action_time=timezone.now() - timedelta(days=10)
    )


def test_the_list_is_filtered_by_time_and_searched_by_object(operator, entries):
    week = timezone.now() - timedelta(days=7)
    words = words_of(operator.get(LIST, data={"action_time__gte": week.isoformat()}))
    assert "account alice@example.org Deactivated" in words
    assert "Revoked" not in words
    words = words_of(operator.get(f"{LIST}?q=sk-echo"))
    assert "Revoked" in words and "Deactivated" not in words
