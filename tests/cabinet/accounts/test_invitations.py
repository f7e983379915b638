"""Invitations: who gets one, what its link does, and what it never reveals."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core import signing
from django.test import override_settings
from django.utils import timezone

from readback.cabinet.accounts import invitations, selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.invitations import invitation_create
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import outbox
from readback.cabinet.models import Invitation, MailOutcome, OutgoingMail, User
from tests.cabinet.accounts.test_security_log import _everything_stored, log  # noqa: F401
from tests.cabinet.outgoing import mail_server_at, wait_until_sent
from tests.cabinet.owners import account, logged_in
from tests.cabinet.parallel import in_parallel
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import CABINET, PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_SQLITE
from tests.support.bad_mail_servers import server_that_is_down
from tests.support.mailbox import Mailbox, link_in
from tests.support.mailbox import text_of as text_of_mail

ALICE, BOB = "alice@example.org", "bob@example.com"
OPERATOR = "operator@example.org"
SUBJECT = "Your invitation"

pytestmark = pytest.mark.usefixtures("unsent_mails")


def invited(email: str = ALICE) -> str:
    """Invite an address without a mail; return the link."""
    return invitations.invitation_link(invitation_create(email, mail=False))


def mailed_link(mails: Mailbox, email: str = ALICE) -> str:
    return link_in(mails.wait_for(email, SUBJECT))


def accept(link: str, **extra: str) -> tuple[Visitor, object]:
    visitor = Visitor(**extra)
    return visitor, visitor.send(link, {"password1": PASSWORD})


def answer_to(link: str) -> tuple[int, str]:
    """Return the status and the page, without what differs for each visitor."""
    page = Visitor().get(link)
    text = re.sub(r'value="[\w-]{64}"', "", text_of(page))
    return page.status_code, text.replace(link.removeprefix(CABINET), "")


@ON_SQLITE
@pytest.mark.parametrize("mode", ["open", "closed", "invitation", "example.org"])
def test_an_invited_person_chooses_a_password_and_is_logged_in(mails, mode):
    with sign_up_for(mode):
        invitation_create(ALICE)
        link = mailed_link(mails)
        page = Visitor().get(link)
        assert f'value="{ALICE}"' in text_of(page) and "readonly" in text_of(page)

        alice, response = accept(link, language="ru")

        assert response.headers["Location"] == "/keys/"
        assert alice.is_logged_in
    created = User.objects.get()
    assert created.email == ALICE and created.check_password(PASSWORD)
    assert created.language == "ru" and not created.is_staff
    assert selectors.account_is_confirmed(created)
    key_services.key_create(created)


@ON_SQLITE
def test_opening_the_link_uses_nothing_up_and_the_button_needs_its_token():
    link = invited()
    path = link.removeprefix(CABINET)
    for _ in range(3):
        assert Visitor().get(link).status_code == 200
        Visitor().client.head(path)

    answer = Visitor().client.post(path, {"password1": PASSWORD})

    assert answer.status_code == 403 and not User.objects.exists()
    assert Visitor().get(link).headers["Cache-Control"].count("no-store")
    assert accept(link)[0].is_logged_in


@ON_SQLITE
def test_every_link_that_does_not_work_gets_the_same_page():
    """Used, expired, withdrawn, replaced, forged and foreign links, and accounts."""
    used = invited("used@example.org")
    accept(used)
    expired = invited("expired@example.org")
    past = timezone.now() - timedelta(seconds=1)
    Invitation.objects.filter(email="expired@example.org").update(expires_at=past)
    withdrawn = invited("withdrawn@example.org")
    invitations.invitation_withdraw(Invitation.objects.latest("id"))
    again_after_withdrawal = invited("withdrawn@example.org")
    replaced, newest = invited("twice@example.org"), invited("twice@example.org")
    taken = invited("taken@example.org")
    account("taken@example.org")
    deactivated = invited("deactivated@example.org")
    account_services.account_deactivate(account("deactivated@example.org"))
    base = newest.rpartition("/accounts/invitation/")[0] + "/accounts/invitation/"
    foreign = base + signing.dumps([1, 1], salt="account") + "/"
    unknown = base + signing.dumps([999, 1], salt="readback.cabinet.invitation") + "/"
    forged = [newest[:-2] + "x/", base + "x/", base + "%00%F0%9F%92%A9/", base + ":::/"]
    dead = [used, expired, withdrawn, replaced, taken, deactivated, foreign, unknown]
    count = User.objects.count()

    answers = {answer_to(link): link for link in [*dead, *forged]}

    assert len(answers) == 1, answers.values()
    [(status, text)] = answers
    assert status == 404 and "This invitation does not work" in text
    assert not re.search(r"@example|deactivated|withdrawn@", text)
    for link in dead:
        _visitor = Visitor()
        path = link.removeprefix(CABINET)
        posted = _visitor.post(path, {"password1": PASSWORD})
        assert posted.status_code == 404 and not _visitor.is_logged_in
    assert User.objects.count() == count
    for link in (newest, again_after_withdrawal):
        assert Visitor().get(link).status_code == 200


def test_two_clicks_at_the_same_moment_create_one_account():
    link = invited()

    answers = in_parallel(lambda: accept(link)[1].status_code, 4)

    assert sorted(answers) == [302, 404, 404, 404]
    assert User.objects.count() == 1


@ON_SQLITE
def test_a_weak_password_is_refused_and_the_link_stays():
    link = invited()
    for password in ("hunter2", "", ALICE):
        answer = Visitor().send(link, {"password1": password})
        assert answer.status_code == 200 and "errorlist" in text_of(answer)

    _visitor, response = accept(link)
    assert response.status_code == 302


@ON_SQLITE
def test_a_domain_that_is_no_longer_allowed_cannot_use_its_link():
    link = invited(BOB)
    with sign_up_for("example.org"):
        assert answer_to(link)[0] == 404
        assert accept_closed(link) == 404
        with pytest.raises(ServiceError, match="READBACK_SIGNUP"):
            invitation_create(BOB)
    assert not User.objects.exists()


def accept_closed(link: str) -> int:
    path = link.removeprefix(CABINET)
    fields = {"password1": PASSWORD}
    return Visitor().post(path, fields).status_code


@ON_SQLITE
def test_somebody_who_is_logged_in_is_asked_to_log_out():
    link = invited()
    bob = logged_in(account(BOB))

    page = bob.get(link)
    answer = bob.send(link, {"password1": PASSWORD})

    assert f"logged in as {BOB}" in words_of(page)
    assert "logged in as" in words_of(answer) and User.objects.count() == 1
    path = link.removeprefix(CABINET)
    out = bob.send("/accounts/logout/", {"next": path}, page=path)
    assert out.headers["Location"] == path


def test_a_sign_up_that_nobody_confirmed_is_replaced(mails):
    Visitor().sign_up(ALICE, "the password of Mallory")
    mallorys = link_in(mails.wait_for(ALICE, "Confirm"))

    alice, _response = accept(invited())

    assert alice.is_logged_in
    assert User.objects.get().check_password(PASSWORD)
    assert "no longer works" in words_of(Visitor().get(mallorys))


@ON_SQLITE
def test_the_operator_is_told_why_an_address_cannot_be_invited():
    account(ALICE)
    account_services.account_deactivate(account(BOB))
    refused = {
        "ALICE@example.org": "already exists",
        BOB: "deactivated. Activate it instead",
        "not an address": "valid e-mail address",
        "a\r\nBcc: b@example.org": "valid e-mail address",
        "\u212a@example.org": "valid e-mail address",  # the Kelvin sign
        f"a@{'b' * 300}.org": "valid e-mail address|at most 254",
    }
    for email, reason in refused.items():
        with pytest.raises(ServiceError, match=reason):
            invitation_create(email)
    assert not Invitation.objects.exists()
    assert not OutgoingMail.objects.exists()


def test_inviting_again_keeps_one_invitation_also_at_the_same_moment(mails):
    answers = in_parallel(lambda: invitation_create(ALICE), 3)

    assert all(isinstance(answer, Invitation) for answer in answers)
    assert Invitation.objects.count() == 1
    wait_until_sent()
    newest = link_in(mails.to(ALICE)[-1])
    assert accept(newest)[0].is_logged_in


def test_after_an_account_is_deleted_its_address_can_be_invited_again():
    link = invited()
    accept(link)
    account_services.account_delete(User.objects.get())
    assert not Invitation.objects.exists()
    assert answer_to(link)[0] == 404

    alice, _response = accept(invited())

    assert alice.is_logged_in
    assert answer_to(link)[0] == 404


@ON_SQLITE
def test_the_link_is_made_when_the_mail_is_sent_and_only_if_it_is_of_use(mails):
    with server_that_is_down() as url, mail_server_at(url):
        invitation_create(ALICE)
        invitation_create(BOB)
        invitations.invitation_withdraw(invitations.invitation_find(BOB))
        assert "/accounts/invitation/" not in _everything_stored()
    OutgoingMail.objects.update(due_at=timezone.now())

    link = mailed_link(mails)
    wait_until_sent()

    assert accept(link)[0].is_logged_in
    assert not mails.to(BOB)
    assert outbox.totals()[MailOutcome.UNNEEDED] == 1


@ON_SQLITE
def test_the_mail_says_until_when_the_link_works(mails):
    invitation = invitation_create(ALICE, days=3)
    mail = mails.wait_for(ALICE, SUBJECT)

    text = text_of_mail(mail)
    assert f"until {invitation.expires_at:%Y-%m-%d %H:%M} UTC" in text
    assert link_in(mail).startswith(f"{CABINET}/accounts/invitation/")
    token = link_in(mail).rstrip("/").rpartition("/")[2]
    assert token not in _everything_stored() and token not in mail["Subject"]


@ON_SQLITE
def test_the_events_are_logged_without_the_address_or_the_link(log):  # noqa: F811
    link = invited()
    accept(link)
    invitation = invitation_create(BOB, mail=False)
    pk = invitation.pk
    invitations.invitation_withdraw(invitation)

    events = [line["event"] for line in log.events]
    assert events == [
        "invitation_sent",
        "invitation_accepted",
        "account_created",
        "login",
        "invitation_sent",
        "invitation_withdrawn",
    ]
    assert log.last("invitation_accepted")["account"] == User.objects.get().pk
    assert log.last("invitation_withdrawn")["invitation"] == pk
    token = link.rstrip("/").rpartition("/")[2]
    for secret in (ALICE, BOB, PASSWORD, token):
        assert not any(secret in text for text in log.texts)


@ON_SQLITE
def test_invitations_are_deleted_a_month_after_they_ended():
    accept(invited())
    invited(BOB)
    invited("expired@example.org")
    Invitation.objects.filter(email=ALICE).update(accepted_at=_days_ago(31))
    expired = Invitation.objects.filter(email="expired@example.org")
    expired.update(expires_at=_days_ago(29))

    Visitor().log_in(ALICE)
    assert set(Invitation.objects.values_list("email", flat=True)) == {
        BOB,
        "expired@example.org",
    }
    expired.update(expires_at=_days_ago(31))
    invited("another@example.org")
    assert not expired.exists()


def _days_ago(days: int) -> object:
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def operator(unsent_mails) -> Visitor:
    created = account(OPERATOR)
    User.objects.filter(pk=created.pk).update(is_staff=True, is_superuser=True)
    return logged_in(User.objects.get(pk=created.pk))


ADMIN = "/admin/cabinet/invitation/"


def act(operator: Visitor, action: str, invitation: Invitation) -> str:
    fields = {"action": action, "_selected_action": str(invitation.pk)}
    operator.send(ADMIN, fields)
    return words_of(operator.get(ADMIN))


def test_an_operator_invites_sends_again_and_withdraws(operator, mails):
    assert 'name="expires_at' not in text_of(operator.get(f"{ADMIN}add/"))
    done = operator.send(f"{ADMIN}add/", {"addresses": "Alice@Example.org"})
    assert "Invited: 1. The e-mails are on their way." in words_of(done)
    first = mailed_link(mails)
    invitation = Invitation.objects.get()
    assert invitation.email == ALICE and invitation.invited_by.email == OPERATOR
    assert "open" in words_of(operator.get(ADMIN))

    mails.messages.clear()
    assert "Invited again: 1." in act(operator, "send_again", invitation)
    second = mailed_link(mails)
    assert answer_to(first)[0] == 404 and answer_to(second)[0] == 200

    assert "Withdrawn: 1." in act(operator, "withdraw", invitation)
    assert answer_to(second)[0] == 404
    entries = LogEntry.objects.order_by("id")
    assert {entry.object_repr for entry in entries} == {ALICE}
    assert [entry.get_change_message() for entry in entries][1:] == [
        "Invited again",
        "Withdrawn",
    ]


@ON_SQLITE
def test_the_admin_says_why_it_cannot_invite_send_again_or_withdraw(operator):
    accept(invited())
    accepted = Invitation.objects.get()

    refused = operator.send(f"{ADMIN}add/", {"addresses": ALICE})
    assert "or an account: 1." in words_of(refused)
    assert "already exists" in act(operator, "send_again", accepted)
    assert "accepted or withdrawn" in act(operator, "withdraw", accepted)
    detail = words_of(operator.get(f"{ADMIN}{accepted.pk}/change/"))
    assert "accepted" in detail and operator.get(f"{ADMIN}99/change/").status_code

    with sign_up_for("example.org"):
        refused = operator.send(f"{ADMIN}add/", {"addresses": BOB})
    assert "READBACK_SIGNUP only allows" in words_of(refused)
    assert Invitation.objects.count() == 1


@ON_SQLITE
def test_the_admin_does_not_flood_a_mailbox(operator):
    with override_settings(ACCOUNT_RATE_LIMITS={"notice_to": "1/h/key"}):
        for address in (ALICE, "alice+tag@example.org"):
            answer = operator.send(f"{ADMIN}add/", {"addresses": address})

    assert "Too many e-mails" in words_of(answer)
    assert Invitation.objects.get().email == ALICE


@ON_SQLITE
def test_only_operators_with_the_permission_invite(operator):
    User.objects.filter(email=OPERATOR).update(is_superuser=False)
    viewer = User.objects.get(email=OPERATOR)
    viewer.user_permissions.add(Permission.objects.get(codename="view_invitation"))
    invited()
    invitation = Invitation.objects.get()

    assert operator.get(f"{ADMIN}add/").status_code == 403
    assert "Withdrawn" not in act(operator, "withdraw", invitation)
    assert logged_in(account(BOB)).get(ADMIN).status_code == 302
    assert Invitation.objects.count() == 1
