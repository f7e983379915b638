"""The API's address: on every page for people, and as JSON for programs."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.test import override_settings

from readback.cabinet import services
from readback.cabinet.models import Address
from tests.cabinet.visitor import Visitor, words_of

pytestmark = pytest.mark.usefixtures("database")

OLD, NEW = "https://old.example.org/v1", "https://api.example.org/v1"


@pytest.fixture
def moved(database):
    """The operator has changed the address, and the service has started since."""
    services.address_record(OLD)
    services.address_record(NEW)
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=NEW)):
        yield Address.objects.get(base_url=NEW)


def test_a_program_reads_the_address_since_when_and_the_one_before(moved):
    answer = Visitor().get("/address.json")

    assert answer.headers["Content-Type"] == "application/json"
    said = answer.json()
    assert set(said) == {"base_url", "since", "previous"}
    assert (said["base_url"], said["previous"]) == (NEW, OLD)
    assert said["since"][:19] == moved.since.isoformat()[:19]


def test_a_page_of_any_origin_may_read_it(moved):
    answer = Visitor().get("/address.json")

    assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/", "/docs/", "/accounts/login/"])
def test_every_page_shows_the_address_and_the_one_before(moved, path):
    words = words_of(Visitor().get(path))

    assert f"API address {NEW}" in words
    assert f"since {moved.since:%Y-%m-%d} ; before that {OLD}" in words


def test_a_first_address_has_none_before_it():
    services.address_record(settings.CONFIG.base_url)

    assert Visitor().get("/address.json").json()["previous"] is None
    assert "before that" not in words_of(Visitor().get("/"))


def test_an_address_that_is_set_but_not_noted_yet_is_shown_without_a_day(moved):
    newest = "https://newest.example.org/v1"
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=newest)):
        said = Visitor().get("/address.json").json()

    assert said == {"base_url": newest, "since": None, "previous": NEW}
