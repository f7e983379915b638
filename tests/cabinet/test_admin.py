"""The operators' pages: what they find and do, and who gets in."""

import pytest
from django.contrib.admin.models import LogEntry

from readback.cabinet import services
from readback.cabinet.models import Key, User
from tests.cabinet.owners import entry, used
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.support.mailbox import link_in

ALICE, OLGA = "alice@example.org", "olga@example.org"

pytestmark = pytest.mark.usefixtures("mails")


@pytest.fixture
def alice(mails) -> User:
    return services.account_create(ALICE, PASSWORD, confirmed=True)


@pytest.fixture
def key(alice) -> Key:
    made = services.key_create(alice, "the key of alice").key
    used(made, 7)
    used(made, 2, code="unknown_field")
    entry(made)
    return made


@pytest.fixture
def operator(mails) -> Visitor:
    olga = services.account_create(OLGA, PASSWORD, confirmed=True)
    User.objects.filter(pk=olga.pk).update(is_staff=True, is_superuser=True)
    visitor = Visitor()
    visitor.log_in(OLGA)
    return visitor


def act(operator: Visitor, model: str, action: str, row: int) -> object:
    path = f"/admin/cabinet/{model}/"
    return operator.send(path, {"action": action, "_selected_action": str(row)})


def test_a_stranger_comes_to_the_one_login_page_with_its_limits():
    for path in ("/admin/", "/admin/login/", "/admin/cabinet/user/"):
        answer = Visitor().get(path)
        while answer.headers["Location"].startswith("/admin/login/"):
            answer = Visitor().get(answer.headers["Location"])
        assert answer.headers["Location"].startswith("/accounts/login/?next=%2Fadmin")


def test_the_login_form_of_the_admin_takes_no_password(operator):
    fields = {"username": OLGA, "password": PASSWORD}
    mallory = Visitor()

    answer = mallory.send("/admin/login/", fields, page="/accounts/login/")

    assert answer.headers["Location"].startswith("/accounts/login/")
    assert not mallory.is_logged_in


def test_an_ordinary_account_is_kept_out(alice, key):
    visitor = Visitor()
    visitor.log_in(ALICE)

    for path in ("/admin/login/", "/admin/cabinet/user/", "/admin/cabinet/key/"):
        answer = visitor.get(path)
        if answer.status_code == 302:
            answer = visitor.get(answer.headers["Location"])
        assert answer.status_code == 403
        assert "cannot open this page" in words_of(answer)
    assert act_refused(visitor, key)


def act_refused(visitor: Visitor, key: Key) -> bool:
    fields = {"action": "revoke", "_selected_action": str(key.pk)}
    visitor.send("/admin/cabinet/key/", fields, page="/account/")
    key.refresh_from_db()
    return key.revoked_at is None


def test_accounts_and_keys_are_found_by_address_label_and_last_four(operator, key):
    for search in (ALICE, "alice", "of alice", key.last_four):
        page = words_of(operator.get("/admin/cabinet/key/", data={"q": search}))
        assert f"…{key.last_four}" in page, search
        assert ALICE in page
    page = words_of(operator.get("/admin/cabinet/user/", data={"q": "ALICE@example"}))
    assert ALICE in page
    assert OLGA not in page.replace(f"Welcome, {OLGA}", "")


def test_usage_and_journal_are_seen(operator, key):
    page = words_of(operator.get(f"/admin/cabinet/key/{key.pk}/change/"))
    assert "Requests accepted: 7" in page
    assert "Requests refused: 2" in page
    assert "unknown_field" in words_of(operator.get("/admin/cabinet/usage/"))
    assert operator.get("/admin/cabinet/journalentry/").status_code == 200


def test_a_revoked_key_leaves_a_trail_and_its_owner_is_told(operator, key, mails):
    act(operator, "key", "revoke", key.pk)

    key.refresh_from_db()
    assert key.revoked_at
    line = LogEntry.objects.get()
    assert (line.user.email, line.object_id) == (OLGA, str(key.pk))
    assert "Revoked" in words_of(operator.get("/admin/admin/logentry/"))
    assert mails.wait_for(ALICE, "was revoked")


def test_an_account_is_shut_and_opened_again_with_a_trail(operator, alice):
    act(operator, "user", "deactivate", alice.pk)
    alice.refresh_from_db()
    assert not alice.is_active

    act(operator, "user", "activate", alice.pk)
    alice.refresh_from_db()
    assert alice.is_active
    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("id")]
    assert said == ["Deactivated", "Activated"]


def test_operators_cannot_shut_themselves_out(operator):
    olga = User.objects.get(email=OLGA)

    act(operator, "user", "deactivate", olga.pk)

    assert operator.is_logged_in


def test_an_operator_who_may_only_look_is_offered_no_action(operator, key):
    from django.contrib.auth.models import Permission

    User.objects.filter(email=OLGA).update(is_superuser=False)
    olga = User.objects.get(email=OLGA)
    olga.user_permissions.add(Permission.objects.get(codename="view_key"))

    page = operator.get("/admin/cabinet/key/")
    assert f"…{key.last_four}" in words_of(page)
    assert "Revoke" not in words_of(page)
    act(operator, "key", "revoke", key.pk)
    key.refresh_from_db()
    assert key.revoked_at is None


def test_nothing_is_added_edited_or_deleted_by_hand(operator, alice, key):
    for model, row in (("user", alice.pk), ("key", key.pk)):
        base = f"/admin/cabinet/{model}"
        assert operator.get(f"{base}/add/").status_code == 403
        assert operator.get(f"{base}/{row}/delete/").status_code == 403
        change = operator.send(f"{base}/{row}/change/", {"label": "changed"})
        assert change.status_code == 403


def test_no_page_shows_a_digest_or_a_password(operator, alice, key):
    pages = [
        f"/admin/cabinet/key/{key.pk}/change/",
        "/admin/cabinet/key/",
        f"/admin/cabinet/user/{alice.pk}/change/",
        "/admin/cabinet/user/",
    ]
    for path in pages:
        page = text_of(operator.get(path))
        assert bytes(key.digest).hex() not in page
        assert "argon2" not in page


def test_the_password_is_changed_on_the_cabinets_own_page(operator):
    answer = operator.get("/admin/password_change/")

    assert answer.headers["Location"] == "/accounts/password/change/"


def test_an_operator_made_by_the_command_confirms_the_address_first(mails):
    User.objects.create_superuser(OLGA, PASSWORD)
    olga = Visitor()

    answer = olga.log_in(OLGA)
    assert answer.headers["Location"] == "/accounts/confirm-email/"
    assert olga.get("/admin/").status_code == 302
    olga.send(link_in(mails.wait_for(OLGA, "Confirm")))

    assert olga.get("/admin/").status_code == 200
