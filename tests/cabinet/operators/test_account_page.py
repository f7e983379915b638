"""The operators' page for an account: what it shows, and who can do what."""

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.utils import timezone

from readback.cabinet.accounts import selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import AuditEntry, OutgoingMail, User
from readback.cabinet.storage.sealing import seal
from tests.cabinet.operators.test_admin import act
from tests.cabinet.owners import ALICE, BOB, OPERATOR, account
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of

LIST = "/admin/cabinet/user/"


def page_of(made: User) -> str:
    return f"/admin/cabinet/user/{made.pk}/change/"


def has_button(page: str, name: str) -> bool:
    return f'name="action" value="{name}"' in page


def do(visitor: Visitor, made: User, name: str) -> None:
    """Press a button on the account's page, and confirm."""
    assert has_button(text_of(visitor.get(page_of(made))), name), name
    fields = {"action": name, "_selected_action": str(made.pk)}
    asked = visitor.send(LIST, fields, page=page_of(made))
    assert "Cancel" in words_of(asked)
    done = visitor.send(LIST, {**fields, "confirmed": "yes"})
    assert done["Location"] == LIST


def test_it_shows_everything_about_an_account(operator, alice):
    key = key_services.key_create(alice, "the laptop").key
    key.last_used_at = timezone.now()
    key.save()
    key_services.key_create(account(BOB), "of bob")
    Visitor().log_in(ALICE)
    issuer = "https://login.example.org"
    SocialAccount.objects.create(user=alice, provider=issuer, uid="a")
    passkey = {"name": "finger", "credential": {"secret": "s3cret"}}
    Authenticator.objects.create(user=alice, type="webauthn", data=passkey)
    codes = {"seed": seal("d1g3st"), "used_mask": 0b1111_1111}
    Authenticator.objects.create(user=alice, type="recovery_codes", data=codes)
    OutgoingMail.objects.update(attempts=3)
    act(operator, "key", "revoke", key.pk)

    page = operator.get(page_of(alice))
    words = words_of(page)
    for part in (
        "State active",
        f"E-mail address {ALICE}",
        "Password set",
        f"Single sign-on {issuer}",
        "Passkey finger",
        "Recovery codes left 2",
        "Unknown browser 203.0.113.0",
        f"the laptop {key} revoked",
        "key_created",
        f"{OPERATOR} key {key} Revoked",
    ):
        assert part in words, part
    assert "of bob" not in words
    for secret in (PASSWORD, "argon2", "s3cret", "d1g3st", bytes(key.digest).hex()):
        assert secret not in text_of(page)
    session = UserSession.objects.get(user=alice).session_key
    assert session not in text_of(page)
    assert operator.get("/admin/cabinet/user/999/change/").status_code == 404


def test_every_operation_asks_first_and_is_in_the_audit_trail(operator, alice):
    Visitor().log_in(ALICE)
    SocialAccount.objects.create(user=alice, provider="https://x", uid="a")
    Authenticator.objects.create(user=alice, type="totp", data={})
    alice.emailaddress_set.update(verified=False)

    do(operator, alice, "end-sessions")
    assert not UserSession.objects.filter(user=alice).exists()
    do(operator, alice, "confirm")
    assert selectors.account_is_confirmed(alice)
    do(operator, alice, "reset-second-factor")
    do(operator, alice, "disconnect")
    assert not Authenticator.objects.exists() and not SocialAccount.objects.exists()
    do(operator, alice, "deactivate")
    do(operator, alice, "activate")
    alice.refresh_from_db()
    assert alice.is_active
    # These buttons have nothing left to do.
    page = text_of(operator.get(page_of(alice)))
    for name in ("activate", "confirm", "disconnect", "reset-second-factor"):
        assert not has_button(page, name)
    do(operator, alice, "delete")
    assert not User.objects.filter(email=ALICE).exists()

    entries = AuditEntry.objects.order_by("id")
    assert {(each.object_name, each.object_id) for each in entries} == {
        (ALICE, alice.pk)
    }
    assert [each.change for each in entries] == [
        "Sessions ended",
        "Address confirmed",
        "Second factor reset",
        "Disconnected",
        "Deactivated",
        "Activated",
        "Deleted",
    ]


def test_an_old_login_has_to_be_proved_again(operator, alice):
    operator.forget_login()
    fields = {"action": "deactivate", "_selected_action": str(alice.pk)}
    asked = operator.send("/admin/cabinet/user/", fields)
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    alice.refresh_from_db()
    assert alice.is_active
    assert operator.get(page_of(alice)).status_code == 200


def test_operators_cannot_lock_themselves_out(operator):
    me = User.objects.get(email=OPERATOR)
    for name in ("deactivate", "delete"):
        assert not has_button(text_of(operator.get(page_of(me))), name)
        fields = {"action": name, "_selected_action": str(me.pk)}
        assert "There is nothing to do" in words_of(operator.send(LIST, fields))
        operator.send(LIST, fields | {"confirmed": "yes"})
    assert User.objects.get(email=OPERATOR).is_active and operator.is_logged_in
