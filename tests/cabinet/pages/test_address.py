"""The API's address: on pages where it is needed, and as JSON for programs."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.test import override_settings

from readback.cabinet.keys import services
from readback.cabinet.models import Address
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, words_of

pytestmark = pytest.mark.usefixtures("database")

OLD, NEW = "https://old.example.org/v1", "https://api.example.org/v1"


@pytest.fixture
def moved(database):
    """The operator has changed the address and restarted the service."""
    services.address_record(OLD)
    services.address_record(NEW)
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=NEW)):
        yield Address.objects.get(base_url=NEW)


def test_the_json_contains_the_address_its_date_and_the_previous_one(moved):
    response = Visitor().get("/address.json")

    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    data = response.json()
    assert set(data) == {"base_url", "since", "previous"}
    assert (data["base_url"], data["previous"]) == (NEW, OLD)
    assert data["since"][:19] == moved.since.isoformat()[:19]


def test_only_pages_about_connecting_show_the_address_and_the_previous_one(moved):
    reader = logged_in(account())
    shown = f"API address {NEW}"
    for path in ("/", "/docs/", "/docs/errors", "/keys/"):
        words = words_of(reader.get(path))
        assert shown in words, path
        assert f"unchanged since {moved.since:%Y-%m-%d} ; previously {OLD}" in words
    for path in ("/account/", "/privacy"):
        assert shown not in words_of(reader.get(path)), path
    assert shown not in words_of(Visitor().get("/accounts/login/"))


def test_the_first_address_has_no_previous_one():
    services.address_record(settings.CONFIG.base_url)

    assert Visitor().get("/address.json").json()["previous"] is None
    assert "previously" not in words_of(Visitor().get("/"))


def test_an_address_not_recorded_yet_is_shown_without_a_date(moved):
    newest = "https://newest.example.org/v1"
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=newest)):
        data = Visitor().get("/address.json").json()

    assert data == {"base_url": newest, "since": None, "previous": NEW}
