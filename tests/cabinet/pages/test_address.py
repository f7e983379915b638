"""The API's address: on pages where it is needed, and as JSON for programs."""

from dataclasses import replace

import pytest
from django.conf import settings
from django.test import override_settings

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, words_of

pytestmark = pytest.mark.usefixtures("database")

NEW = "https://api.example.org/v1"


@pytest.fixture
def moved():
    """The operator has changed the address and restarted the service."""
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=NEW)):
        yield


def test_programs_read_the_address_as_json(moved):
    response = Visitor().get("/address.json")

    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.json() == {"base_url": NEW}


def test_only_pages_about_connecting_show_the_address(moved):
    reader = logged_in(account())
    shown = f"API address {NEW}"
    for path in ("/", "/docs/", "/docs/errors", "/keys/"):
        assert shown in words_of(reader.get(path)), path
    for path in ("/account/", "/privacy"):
        assert shown not in words_of(reader.get(path)), path
    assert shown not in words_of(Visitor().get("/accounts/login/"))
