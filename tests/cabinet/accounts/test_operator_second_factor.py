"""Operators: their own second factor, and how they help people who lost theirs."""

from dataclasses import replace

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.test import override_settings

from readback.cabinet.models import AuditEntry, User
from tests.cabinet.accounts.factors import APP, PAGE, App, add_app, log_in
from tests.cabinet.owners import ALICE, OPERATOR
from tests.cabinet.visitor import Visitor, words_of
from tests.support.mailbox import text_of as body_of

ADMIN, USERS = "/admin/", "/admin/cabinet/user/"
CONFIRM = f"{PAGE}reauthenticate/?next="


@pytest.fixture
def required(unsent_mails):
    config = replace(settings.CONFIG, operator_second_factor=True)
    with override_settings(CONFIG=config):
        yield


def follow(visitor: Visitor, path: str) -> str:
    """Return the path at which the admin's redirects end."""
    response = visitor.get(path)
    while response.status_code == 302:
        path = response.headers["Location"]
        if not path.startswith(ADMIN):
            return path
        response = visitor.get(path)
    return path


def test_the_pages_for_operators_lead_to_a_second_factor_and_back(operator, required):
    for page in (ADMIN, "/admin/jsi18n/", "/admin/login/", USERS):
        assert follow(operator, page) == PAGE
    assert "Operators need a second factor here" in words_of(operator.get(PAGE))
    assert operator.get("/keys/").status_code == 200

    app = App(operator.get(APP))
    operator.get(operator.post(APP, {"code": app.code}).headers["Location"])

    assert operator.get(USERS).status_code == 200


def test_a_session_without_the_factor_does_not_count(operator, required, clock):
    earlier = Visitor()
    earlier.log_in(OPERATOR)
    app = add_app(operator)
    clock[0] += 30

    assert follow(earlier, USERS) == f"{CONFIRM}%2Fadmin%2Fcabinet%2Fuser%2F"
    fields = {"action": "deactivate", "_selected_action": "1"}
    assert earlier.send(USERS, fields, page="/account/").status_code == 302
    assert User.objects.filter(is_active=False).count() == 0
    fields = {"code": app.code, "next": USERS}
    response = earlier.send(f"{CONFIRM}{USERS}", fields)

    assert response.headers["Location"] == USERS
    assert earlier.get(USERS).status_code == 200


def test_a_login_with_the_factor_counts_until_it_is_removed(operator, required, clock):
    app = add_app(operator)
    clock[0] += 30
    visitor = log_in(OPERATOR, app.code)
    assert visitor.get(ADMIN).status_code == 200

    Authenticator.objects.all().delete()

    assert follow(visitor, ADMIN) == PAGE


def test_an_operator_resets_the_second_factor_of_an_owner(
    operator, alice, owner, mails, log
):
    add_app(owner)
    me = User.objects.get(email=OPERATOR)
    fields = {
        "action": "reset-second-factor",
        "_selected_action": [str(alice.pk), str(me.pk)],
        "confirmed": "yes",
    }

    assert "Reset the second factor" in words_of(operator.get(USERS))
    operator.send(USERS, fields)

    assert not Authenticator.objects.exists()
    assert operator.is_logged_in and not owner.is_logged_in
    [line] = AuditEntry.objects.all()
    assert line.object_id == alice.pk
    logged = log.last("second_factor_reset")
    assert (logged["account"], logged["by"]) == (alice.pk, me.pk)
    mail = body_of(mails.wait_for(ALICE, "has been reset"))
    assert "The operator of 127.0.0.1:8001 removed the second factor" in mail
    owner.log_in(ALICE)
    assert owner.is_logged_in
