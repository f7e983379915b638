"""The download of all data that we hold about an account, as one file."""

import gzip
import json
import logging
import re
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialToken
from allauth.usersessions.models import UserSession
from django.db import models
from django.utils import timezone

from readback.cabinet.accounts import download as account_download
from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import outbox
from readback.cabinet.models import AuditEntry, Key, User
from tests.cabinet.owners import ALICE, BOB, entry, used
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.cabinet.which_database import ON_BOTH

MAIL = "account/email/password_reset_key"

PAGE, FILE = "/account/data/", "/account/data/download/"
DOCS = Path(__file__).parents[3] / "docs" / "cabinet.md"
NAME = re.compile(r"`(\w+)`")
SECRET = "zyzzyva-secret"

# Tables that reference an account but are not in the file, with the reason.
TABLES_LEFT_OUT = {
    "admin.LogEntry": "what version 1.0.0 wrote; AuditEntry has a copy",
    "account.EmailConfirmation": "links are signed and not stored, so it is empty",
    "socialaccount.SocialToken": "the provider's secrets; they are not stored",
}
# Columns that are not in the file. Ids and owners mean nothing to the reader.
COLUMNS_LEFT_OUT = {
    "account.EmailAddress": {"id", "user"},
    # `by` is the operator, who is someone else.
    "cabinet.AuditEntry": {"id", "by", "by_id"},
    "cabinet.JournalEntry": {"id"},
    # The digest is secret, and only the API uses `last_created`.
    "cabinet.Key": {"owner", "digest", "last_created"},
    "cabinet.OutgoingMail": {"id", "account", "sealed", "due_at"},  # sent to the owner
    "cabinet.Usage": {"id"},
    "cabinet.User": {"password"},  # secret
    "mfa.Authenticator": {"id", "user", "data"},  # secret, except for the name
    "socialaccount.SocialAccount": {"id", "user"},
    # The key is secret; `sessions.py` empties `user_agent` after reading names from it.
    "usersessions.UserSession": {"id", "user", "session_key", "user_agent"},
}


def tables_of_an_account() -> set[type[models.Model]]:
    """Return every table that references an account, directly or indirectly."""
    found: set[type[models.Model]] = set()
    to_visit: list[type[models.Model]] = [User]
    while to_visit:
        for field in to_visit.pop()._meta.get_fields(include_hidden=True):
            leads_here = field.auto_created and not field.concrete
            if leads_here and field.related_model not in found:
                found.add(field.related_model)
                to_visit.append(field.related_model)
    # The audit trail refers to rows only by id, so that it outlives them.
    return (found - {User}) | {AuditEntry}


def fill(alice: User) -> None:
    """Add a row to each of the account's tables; some rows contain secrets."""
    key = key_services.key_create(alice, "laptop").key
    used(key, 7)
    entry(key, user_agent="curl/8.5.0")
    confirmation = EmailAddress.objects.get(user=alice)
    EmailConfirmation.objects.create(email_address=confirmation, key=SECRET)
    EmailAddress.objects.create(user=alice, email="alice@example.net")
    Authenticator.objects.create(user=alice, type="totp", data={"secret": SECRET})
    passkey = {"name": "my finger", "credential": SECRET}
    Authenticator.objects.create(user=alice, type="webauthn", data=passkey)
    provider = SocialAccount.objects.create(
        user=alice, provider="openid_connect", uid="17", extra_data={"name": "Alice"}
    )
    SocialToken.objects.create(account=provider, token=SECRET)
    outbox.add(MAIL, ALICE, timedelta(1), account=alice, link=SECRET)
    bob = account_services.account_create(BOB, confirmed=True)
    for actor, target in ((bob, alice), (bob, key), (alice, bob)):
        account_services.audit_record(actor, target, "Looked at")


def download(owner: Visitor) -> dict[str, object]:
    response = owner.get(FILE)
    assert response.status_code == 200
    return json.loads(b"".join(response.streaming_content))


@ON_BOTH
def test_the_file_has_rows_of_every_table_of_an_account(alice, owner):
    fill(alice)
    tables = tables_of_an_account()
    empty = {table._meta.label for table in tables if not table.objects.exists()}
    assert empty <= {"admin.LogEntry"}, "fill these tables in this test"

    found = download(owner)

    lists = account_download.lists_of(alice).values()
    exported = {rows.model._meta.label for rows, _columns in lists}
    labels = {table._meta.label for table in tables}
    assert labels == exported | set(TABLES_LEFT_OUT)
    assert [name for name, rows in found.items() if not rows] == []
    assert [row["name"] for row in found["second_factors"]] == [None, "my finger"]
    changes = [row["change"] for row in found["actions_of_operators"]]
    assert changes == ["Looked at", "Looked at"]
    bob = User.objects.get(email=BOB)
    assert found["actions_as_operator"][0]["object_id"] == bob.pk


def test_every_column_is_exported_or_left_out_on_purpose(alice):
    columns = defaultdict(set)
    columns[User] = set(account_download.ACCOUNT_COLUMNS.split())
    for rows, names in account_download.lists_of(alice).values():
        columns[rows.model] |= set(names.split())
    assert columns[Authenticator] >= {"name"}
    columns[Authenticator].remove("name")  # a part of `data`
    for model, exported in columns.items():
        existing = {field.name for field in model._meta.get_fields() if field.concrete}
        assert existing == exported | COLUMNS_LEFT_OUT[model._meta.label], model


@ON_BOTH
def test_the_file_has_no_secret_and_nothing_about_others(alice, owner):
    fill(alice)
    bob = User.objects.get(email=BOB)
    entry(key_services.key_create(bob, "of bob").key, user_agent="Bob's program")
    outbox.add(MAIL, BOB, timedelta(1))
    EmailAddress.objects.create(user=alice, email="mallory@example.org")
    outbox.add(MAIL, "mallory@example.org", timedelta(1))

    text = json.dumps(download(owner))

    assert ALICE in text and "curl/8.5.0" in text
    session = UserSession.objects.get().session_key
    digest = Key.objects.get(owner=alice).digest
    secrets = [SECRET, alice.password, session, bytes(digest).hex(), BOB]
    assert [secret for secret in secrets if secret in text] == []
    assert "bob" not in text.lower()
    # An unconfirmed address may be someone else's, so its e-mails are not in the file.
    assert text.count("mallory@example.org") == 1


@pytest.mark.parametrize(
    "docs", [DOCS, DOCS.parent / "ru" / DOCS.name], ids=["en", "ru"]
)
def test_the_documentation_names_every_field_and_no_other(alice, owner, docs):
    fill(alice)
    lines = docs.read_text(encoding="utf-8").splitlines()
    cells = [line.split("|") for line in lines if line.startswith("| `")]
    named = {NAME.findall(row[1])[0]: set(NAME.findall(row[2])) for row in cells}

    found = download(owner)
    assert found.pop("made_at") and named.pop("made_at") == set()
    account = found.pop("account")
    assert named.pop("account") == set(account)
    assert named == {section: set(rows[0]) for section, rows in found.items()}


def test_the_file_is_a_private_download(alice, owner, caplog):
    caplog.set_level(logging.INFO, logger="readback.security")
    assert f'href="{FILE}"' in owner.get(PAGE).content.decode()
    assert f'href="{PAGE}"' in owner.get("/account/").content.decode()

    response = owner.get(FILE, headers={"accept-encoding": "gzip"})

    name = f'attachment; filename="readback-account-{timezone.now():%Y-%m-%d}.json"'
    assert response.headers["Content-Disposition"] == name
    assert "no-store" in response.headers["Cache-Control"]
    found = json.loads(gzip.decompress(b"".join(response.streaming_content)))
    assert found["account"]["email"] == ALICE
    events = [json.loads(line.getMessage()) for line in caplog.records]
    [event] = [each for each in events if each["event"] == "data_downloaded"]
    assert event["account"] == event["by"] == alice.pk


def test_it_needs_a_login_and_the_password_of_the_last_15_minutes(owner):
    for path in (PAGE, FILE):
        stranger = Visitor().get(path)
        assert stranger.headers["Location"] == f"/accounts/login/?next={path}"
    owner.forget_login()

    for path in (PAGE, FILE):
        asked = owner.get(path)
        assert asked.headers["Location"].startswith("/accounts/reauthenticate/?next=")
    page = owner.get(PAGE).headers["Location"]
    fields = {"password": PASSWORD, "next": PAGE}
    back = owner.send("/accounts/reauthenticate/", fields, page=page)

    assert back.headers["Location"] == PAGE
    assert download(owner)["account"]["email"] == ALICE


def test_downloads_are_limited_and_head_is_not_one(owner):
    for _ in range(10):
        assert owner.client.head(FILE).status_code == 405
    for _ in range(2):
        download(owner)

    assert owner.get(FILE).status_code == 429
    assert "Download as JSON" in words_of(owner.get(PAGE))
