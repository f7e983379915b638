"""Migrations match the models and keep data; missing ones are detected."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from readback.cabinet.models import AuditEntry, User
from readback.cabinet.storage import schema
from tests.cabinet.which_database import BOTH

DATABASES = BOTH

pytestmark = pytest.mark.usefixtures("database")


def test_every_model_change_has_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("app", ["cabinet", "sessions"])
def test_the_last_migration_of_an_app_is_pending_until_it_is_recorded(app):
    [last] = MigrationLoader(connection).graph.leaf_nodes(app)
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied(*last)
    try:
        assert schema.pending() == [".".join(last)]
    finally:
        recorder.record_applied(*last)
    assert schema.pending() == []


def test_the_audit_trail_of_version_1_0_0_is_kept():
    call_command("migrate", "cabinet", "0001", verbosity=0)
    by = User.objects.create(email="operator@example.org")
    alice = User.objects.create(email="alice@example.org")
    LogEntry.objects.log_actions(by.pk, [alice], CHANGE, "Deactivated")

    schema.migrate()
    by.delete()

    [row] = AuditEntry.objects.values()
    del row["id"], row["at"]
    assert row == {
        "by": "operator@example.org",
        "by_id": 1,
        "object_type": "account",
        "object_id": alice.pk,
        "object_name": "alice@example.org",
        "change": "Deactivated",
    }


def test_version_1_0_0_can_still_write_the_address_of_the_api():
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO cabinet_address (base_url, since) VALUES (%s, %s)",
            ["https://api.example.org/v1", "2026-11-19 00:00:00+00:00"],
        )
        assert cursor.rowcount == 1


def test_a_migration_of_a_newer_version_is_unknown_and_that_of_others_is_not():
    recorder = MigrationRecorder(connection)
    recorder.record_applied("cabinet", "9999_newer")
    recorder.record_applied("an_app_of_others", "0001_initial")
    try:
        assert schema.unknown() == ["cabinet.9999_newer"]
    finally:
        recorder.record_unapplied("cabinet", "9999_newer")
        recorder.record_unapplied("an_app_of_others", "0001_initial")
    assert schema.unknown() == []
