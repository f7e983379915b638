"""What operators read: times with their zone, buttons that say what they do."""

import re
from datetime import timedelta

import pytest

from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import User
from tests.cabinet.owners import account, entry, used
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of

DATABASES = ["sqlite"]

OPERATOR = "operator@example.org"
TIME = r"20\d\d-\d\d-\d\d \d\d:\d\d"

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture(params=["en", "ru"])
def operator(unsent_mails, request) -> Visitor:
    created = account_services.account_create(OPERATOR, PASSWORD, confirmed=True)
    User.objects.filter(pk=created.pk).update(
        is_staff=True, is_superuser=True, language=request.param
    )
    visitor = Visitor(request.param)
    visitor.log_in(OPERATOR)
    return visitor


@pytest.fixture
def pair():
    """A rotated key, and the one that replaces it."""
    old = key_services.key_create(account(), "laptop").key
    new = key_services.key_rotate(old, timedelta(days=1)).key
    for key in (old, new):
        used(key, 1)
        entry(key)
    return old, new


def test_every_time_names_its_zone(operator, pair):
    old, _new = pair
    key_services.key_revoke(old)
    operator.send(
        "/admin/cabinet/user/",
        {
            "action": "deactivate",
            "_selected_action": str(old.owner.pk),
            "confirmed": "yes",
        },
    )
    lists = ("user", "key", f"key/{old.pk}/change")
    lists += (f"user/{old.owner.pk}/change",)
    pages = [f"/admin/cabinet/{name}/" for name in lists]
    for path in (*pages, "/admin/admin/logentry/"):
        words = words_of(operator.get(path))
        assert re.search(rf"{TIME} UTC", words), path
        assert not re.search(rf"{TIME}(?! UTC)", words), path
        assert "p.m." not in words and "a.m." not in words, path


def test_the_keys_of_a_rotated_pair_can_be_told_apart(operator, pair):
    old, new = pair
    page = text_of(operator.get("/admin/cabinet/key/"))
    states = re.findall(r'class="field-state"[^>]*>(.*?)</td>', page, re.S)

    assert len(states) == len(set(states)) == 2
    assert re.search(rf"{TIME} UTC", states[1])
    assert str(new) in words_of(operator.get(f"/admin/cabinet/key/{old.pk}/change/"))
    assert str(old) in words_of(operator.get(f"/admin/cabinet/key/{new.pk}/change/"))


def test_the_button_of_an_invitation_says_that_it_sends_one(operator):
    page = words_of(operator.get("/admin/cabinet/user/add/"))
    assert ("Send invitations" in page) or ("Отправить приглашения" in page)
    assert "Save" not in page and "Сохранить" not in page
