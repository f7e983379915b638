"""The API's address: on pages where it is needed, and as JSON for programs."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.test import override_settings

from readback.cabinet.keys import services
from readback.cabinet.models import Address
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, words_of

DATABASES = ["sqlite"]

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


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/errors", "/keys/"])
def test_pages_about_connecting_show_the_address_and_the_previous_one(moved, path):
    words = words_of(logged_in(account()).get(path))

    assert f"API address {NEW}" in words
    assert f"unchanged since {moved.since:%Y-%m-%d} ; previously {OLD}" in words


@pytest.mark.parametrize("path", ["/accounts/login/", "/account/", "/privacy"])
def test_other_pages_do_not(moved, path):
    reader = Visitor() if path == "/accounts/login/" else logged_in(account())
    assert "API address" not in words_of(reader.get(path))


def test_the_first_address_has_no_previous_one():
    services.address_record(settings.CONFIG.base_url)

    assert Visitor().get("/address.json").json()["previous"] is None
    assert "previously" not in words_of(Visitor().get("/"))


def test_an_address_not_recorded_yet_is_shown_without_a_date(moved):
    newest = "https://newest.example.org/v1"
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=newest)):
        data = Visitor().get("/address.json").json()

    assert data == {"base_url": newest, "since": None, "previous": NEW}
