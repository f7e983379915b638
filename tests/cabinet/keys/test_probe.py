"""The cabinet hands out the probe, and shows how to fetch and run it."""

import re
from dataclasses import replace
from hashlib import sha256
from html import unescape

import pytest
from django.conf import settings
from django.test import override_settings

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, text_of

pytestmark = pytest.mark.usefixtures("unsent_mails")

FILE = "/probe.pyz"


def test_anybody_can_fetch_the_file_without_a_cookie():
    response = Visitor().get(FILE)

    assert response.status_code == 200
    assert response.content.startswith(b"#!/usr/bin/env python3\nPK")
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="probe.pyz"'
    )
    assert response.headers["Content-Length"] == str(len(response.content))
    assert not response.cookies


def test_the_page_of_a_new_key_has_the_checksum_and_the_public_addresses():
    public = replace(settings.CONFIG, public_base_url="http://[2001:db8::7]/v1")
    visitor = logged_in(account())
    with override_settings(CONFIG=public, CABINET_URL="https://cabinet.example.org"):
        created = visitor.send("/keys/", {"label": "laptop"})
        page = text_of(visitor.get(created.headers["Location"]))

    assert sha256(Visitor().get(FILE).content).hexdigest() in page
    lines = re.search(r'<code id="probe">([^<]+)</code>', page)
    # A shell would read unquoted brackets as a pattern.
    assert unescape(lines[1]).splitlines() == [
        "curl -fsSO https://cabinet.example.org/probe.pyz",
        "python3 probe.pyz 'http://[2001:db8::7]/v1'",
    ]
