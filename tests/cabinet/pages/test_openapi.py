"""The OpenAPI document at /openapi.yaml, with the addresses of this installation."""

from dataclasses import replace

import pytest
import yaml
from django.conf import settings
from django.test import override_settings

from tests.cabinet.visitor import Visitor

pytestmark = pytest.mark.usefixtures("database")


def test_it_contains_the_addresses_of_the_installation_and_no_others():
    config = replace(settings.CONFIG, public_base_url="https://api.example.org/v1")
    with override_settings(CONFIG=config, CABINET_URL="https://example.org"):
        document = yaml.safe_load(Visitor().get("/openapi.yaml").content)

    [server] = document["servers"]
    shown = server["url"].format(base_url=server["variables"]["base_url"]["default"])
    assert shown == config.public_base_url
    assert document["externalDocs"]["url"] == "https://example.org/docs/contract"
    assert "127.0.0.1" not in str(document)


def test_any_tool_can_fetch_it_and_ask_whether_it_has_changed():
    first = Visitor().get("/openapi.yaml")
    again = Visitor().get("/openapi.yaml", headers={"If-None-Match": first["ETag"]})

    assert first["Content-Type"] == "application/yaml"
    assert first["Access-Control-Allow-Origin"] == "*"
    assert first["Cache-Control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
