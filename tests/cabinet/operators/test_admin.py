"""The operators' pages: search, actions and access."""

import re
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import AuditEntry, Key, OutgoingMail, User
from tests.cabinet.owners import ALICE, OPERATOR, entry, used
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
LISTS = (
    *(f"/admin/cabinet/{name}/" for name in ("user", "key")),
    "/admin/cabinet/auditentry/",
)


@pytest.fixture
def key(alice) -> Key:
    created = key_services.key_create(alice, "the key of alice").key
    used(created, 7)
    used(created, 2, code="unknown_field")
    entry(created)
    return created


def act(operator: Visitor, model: str, action: str, row: int) -> object:
    path = f"/admin/cabinet/{model}/"
    fields = {"action": action, "_selected_action": str(row)}
    asked = operator.send(path, fields)
    assert "confirmed" in text_of(asked), "nothing happens before the question"
    return operator.send(path, fields | {"confirmed": "yes"})


def test_the_admin_redirects_to_the_rate_limited_login_page(operator):
    for path in ("/admin/", "/admin/login/", "/admin/cabinet/user/"):
        response = Visitor().get(path)
        while response.headers["Location"].startswith("/admin/login/"):
            response = Visitor().get(response.headers["Location"])
        assert response.headers["Location"].startswith("/accounts/login/?next=%2Fadmin")
    # Django's own login form does not accept passwords.
    mallory = Visitor()
    fields = {"username": OPERATOR, "password": PASSWORD}
    response = mallory.post("/admin/login/", fields)
    assert response.headers["Location"].startswith("/accounts/login/")
    assert not mallory.is_logged_in


def test_an_ordinary_account_has_no_access(alice, owner, key):
    for path in ("/admin/login/", "/admin/cabinet/user/", "/admin/cabinet/key/"):
        response = owner.get(path)
        if response.status_code == 302:
            response = owner.get(response.headers["Location"])
        assert response.status_code == 403
        assert "cannot open this page" in words_of(response)
    for model, action, row in (("key", "revoke", key), ("user", "delete", alice)):
        path = f"/admin/cabinet/{model}/"
        fields = {"action": action, "_selected_action": str(row.pk)}
        for who in (owner, Visitor()):
            assert who.get(f"{path}{row.pk}/change/").status_code == 302
            assert who.post(path, {**fields, "confirmed": "yes"}).status_code == 302
        row.refresh_from_db()
    assert key.revoked_at is None


@ON_BOTH
def test_accounts_and_keys_are_found_by_address_label_and_last_four(operator, key):
    for search in (ALICE, "alice", "of alice", key.last_four):
        page = words_of(operator.get("/admin/cabinet/key/", data={"q": search}))
        assert f"…{key.last_four}" in page, search
        assert ALICE in page
    # An account's page and the list of accounts link to this list.
    page = words_of(operator.get(f"/admin/cabinet/key/?owner={key.owner_id}"))
    assert f"…{key.last_four}" in page
    page = words_of(operator.get("/admin/cabinet/user/", data={"q": "ALICE@example"}))
    assert ALICE in page
    assert OPERATOR not in page.replace(f"Welcome, {OPERATOR}", "")


def test_who_was_not_active_for_90_days_is_found_and_deactivated(operator):
    long_ago = timezone.now() - timedelta(days=91)
    old, uses_key, logs_in = (
        account_services.account_create(f"{name}@example.org", confirmed=True)
        for name in ("old", "uses-key", "logs-in")
    )
    User.objects.filter(pk__in=[old.pk, uses_key.pk]).update(last_login=long_ago)
    User.objects.filter(pk=logs_in.pk).update(last_login=timezone.now())
    key = key_services.key_create(uses_key).key
    Key.objects.filter(pk=key.pk).update(last_used_at=timezone.now())

    has_new_key = account_services.account_create("new-key@example.org", confirmed=True)
    key_services.key_create(has_new_key)
    User.objects.exclude(email=OPERATOR).update(date_joined=long_ago)
    account_services.account_invite("invited@example.org")

    listed = "/admin/cabinet/user/?active=not-90"
    page = words_of(operator.get(listed))

    assert "old@example.org" in page
    for name in ("uses-key", "logs-in", "new-key", "invited"):
        assert f"{name}@" not in page
    act(operator, "user", "deactivate", old.pk)
    old.refresh_from_db()
    assert not old.is_active


@ON_BOTH
def test_all_rows_of_a_list_can_be_selected(operator, monkeypatch):
    monkeypatch.setattr("readback.cabinet.operators.admin_site.MAX_ROWS", 400)
    User.objects.bulk_create(User(email=f"{n}@example.org") for n in range(500))
    path = "/admin/cabinet/user/?is_active__exact=1&q=example.org"
    some = [str(row.pk) for row in User.objects.order_by("-pk")[:50]]
    everybody = {"action": "deactivate", "select_across": "1", "index": "0"}
    for left in (101, 1):  # finally, only the operator
        question = operator.send(path, everybody | {"_selected_action": some})
        # A thousand addresses would exceed the maximum size of a page.
        assert text_of(question).count("<li>") <= 100
        fields = dict(HIDDEN.findall(text_of(question)))
        newcomer = account_services.account_create(f"{left}-new@example.org")
        done = operator.send(path, fields | {"confirmed": "yes"})
        assert done.status_code == 302
        # An account that was created after the question does not change.
        newcomer.refresh_from_db()
        assert newcomer.is_active
        newcomer.delete()
        assert User.objects.filter(is_active=True).count() == left
    # Another operator has deactivated the accounts in the meantime.
    done = operator.send(path.replace("=1", "=0"), fields | {"confirmed": "yes"})
    assert "nothing to do" in words_of(operator.get(path))


@ON_BOTH
def test_the_statements_of_a_list_do_not_depend_on_its_rows(operator, alice):
    def statements(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert operator.get(path).status_code == 200
        return len(queries)

    before = [statements(path) for path in LISTS]
    for number in range(8):
        owner = account_services.account_create(
            f"bob{number}@example.org", confirmed=True
        )
        created = key_services.key_create(owner, "a key").key
        used(created, 1)
        entry(created)
        act(operator, "key", "revoke", created.pk)

    # The actions of a list with rows need two more statements.
    for path, statements_before in zip(LISTS, before, strict=True):
        assert statements(path) <= statements_before + 2, path


@ON_BOTH
def test_revoking_a_key_is_logged_and_its_owner_is_notified(operator, key, mails):
    act(operator, "key", "revoke", key.pk)

    key.refresh_from_db()
    assert key.revoked_at
    line = AuditEntry.objects.get()
    assert (line.by, line.object_id) == (OPERATOR, key.pk)
    assert "Revoked" in words_of(operator.get(LISTS[-1]))
    for row, is_listed in ((key.pk, True), (key.pk + 1, False)):
        listed = operator.get(f"{LISTS[-1]}?object_type=key&object_id={row}")
        assert ("Revoked" in words_of(listed)) == is_listed
    assert mails.wait_for(ALICE, "revoked")


def test_rows_cannot_be_changed_or_deleted_and_show_no_secret(operator, alice, key):
    for model, row in (("user", alice.pk), ("key", key.pk)):
        base = f"/admin/cabinet/{model}"
        assert operator.get(f"{base}/{row}/delete/").status_code == 403
        change = operator.post(f"{base}/{row}/change/", {"label": "changed"})
        assert change.status_code in (302, 403)
        for path in (f"{base}/", f"{base}/{row}/change/"):
            page = text_of(operator.get(path, follow=True))
            assert bytes(key.digest).hex() not in page and "argon2" not in page
    key.refresh_from_db()
    assert key.label == "the key of alice"
    assert operator.get("/admin/cabinet/auditentry/1/change/").status_code == 404


def test_a_change_without_its_line_in_the_audit_trail_is_not_made(
    operator, alice, monkeypatch
):
    before = OutgoingMail.objects.count()

    def fail(*_: object, **__: object) -> None:
        raise OperationalError

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    with pytest.raises(OperationalError):
        act(operator, "user", "deactivate", alice.pk)
    alice.refresh_from_db()
    assert alice.is_active
    assert not AuditEntry.objects.exists() and OutgoingMail.objects.count() == before


@ON_BOTH
def test_what_operators_did_outlives_them(operator, alice):
    """Neither a new address nor the deletion of an account hides who did what."""
    services = account_services
    other = services.account_create("other@example.org", PASSWORD, confirmed=True)
    User.objects.filter(pk=other.pk).update(is_staff=True)
    me = User.objects.get(email=OPERATOR)
    act(operator, "user", "delete", alice.pk)
    User.objects.filter(pk=me.pk).update(email="renamed@example.org")
    gone = operator.send("/account/delete/", {"email": "renamed@example.org"})
    assert gone["Location"] == "/" and not User.objects.filter(pk=me.pk).exists()

    names = ("by", "by_id", "object_name", "change")
    assert list(AuditEntry.objects.order_by("pk").values_list(*names)) == [
        (OPERATOR, me.pk, ALICE, "Deleted"),
        ("renamed@example.org", me.pk, "renamed@example.org", "Deleted"),
    ]
    visitor = Visitor()
    visitor.log_in(other.email)
    words = words_of(visitor.get(LISTS[-1]))
    assert f"{OPERATOR} account {ALICE} Deleted" in words


def test_the_audit_trail_is_filtered_by_time_and_searched_by_object(
    operator, alice, key
):
    act(operator, "key", "revoke", key.pk)
    old = timezone.now() - timedelta(days=10)
    AuditEntry.objects.update(at=old)
    act(operator, "user", "deactivate", alice.pk)

    week = (timezone.now() - timedelta(days=7)).isoformat()
    words = words_of(operator.get(LISTS[-1], data={"at__gte": week}))
    assert "account alice@example.org Deactivated" in words
    assert "Revoked" not in words
    words = words_of(operator.get(f"{LISTS[-1]}?q=sk-echo"))
    assert "Revoked" in words and "Deactivated" not in words
