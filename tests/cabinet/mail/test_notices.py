"""E-mails to the owner about changes to keys, queued in the same transaction."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import outbox
from tests.cabinet.outgoing import wait_until_sent
from tests.support.mailbox import html_of, text_of

ALICE = "alice@example.org"


def test_the_mail_about_a_new_key_does_not_contain_the_key(alice, owner, mails):
    owner.send("/keys/", {"label": "my laptop"})
    key = alice.keys.get()

    mail = mails.wait_for(ALICE, "New key")

    for part in (text_of(mail), html_of(mail)):
        assert "my laptop" in part
        assert f"sk-echo-…{key.last_four}" in part
        assert "203.0.113.7" in part
    assert mail.as_string().count("sk-echo-") == mail.as_string().count("sk-echo-…")


def test_no_mail_is_sent_about_a_key_right_after_the_sign_up(alice, owner, mails):
    alice.date_joined = timezone.now() - timedelta(minutes=10)
    alice.save()

    owner.send("/keys/", {"label": "my laptop"})

    assert alice.keys.count() == 1
    assert not outbox.waiting()["waiting"]
    assert mails.to(ALICE) == []


def test_a_revoked_key_is_announced_once(alice, owner, mails):
    key = key_services.key_create(alice, "my laptop").key
    for _ in range(2):
        owner.send(f"/keys/{key.pk}/revoke/", page="/account/")

    wait_until_sent()
    assert len([m for m in mails.to(ALICE) if "revoked" in m["Subject"]]) == 1


def test_a_change_that_fails_sends_no_mail(alice, mails):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        key_services.key_create(alice)
        raise ZeroDivisionError

    assert not alice.keys.exists()
    assert not outbox.waiting()["waiting"]
    assert mails.messages == []


def test_the_mail_says_that_the_operator_did_it(alice, mails):
    key_services.key_create(alice)

    assert "The operator of the service did this" in text_of(
        mails.wait_for(ALICE, "New key")
    )


def test_a_command_without_a_mail_server_prints_no_mail(
    alice, settings_without_mail, capsys
):
    new = key_services.key_create(alice)
    key_services.key_revoke(new.key)

    assert not outbox.waiting()["waiting"]
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
