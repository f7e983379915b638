"""Addresses that programs know by convention, such as /robots.txt."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import CABINET, Visitor, text_of

pytestmark = pytest.mark.usefixtures("database")


def test_programs_find_the_icon_and_the_rules_for_robots():
    icon = Visitor().get("/favicon.ico")
    assert icon.status_code == 200
    assert icon.headers["Content-Type"] in ("image/x-icon", "image/vnd.microsoft.icon")
    assert b"".join(icon.streaming_content).startswith(b"\0\0\1\0\3\0")

    robots = Visitor().get("/robots.txt")
    rules = b"".join(robots.streaming_content).decode()
    assert "Disallow: /keys/" in rules
    assert "Disallow: /\n" not in rules


def test_the_way_to_report_a_vulnerability_is_published_if_there_is_one():
    path = "/.well-known/security.txt"
    assert Visitor().get(path).status_code == 404

    config = replace(settings.CONFIG, contact="mailto:alice@example.org")
    with override_settings(CONFIG=config):
        answer = Visitor().get(path)
    fields = dict(line.split(": ", 1) for line in text_of(answer).splitlines())
    assert fields["Contact"] == "mailto:alice@example.org"
    assert fields["Canonical"] == CABINET + path
    expires = datetime.fromisoformat(fields["Expires"])
    assert timedelta(days=30) < expires - timezone.now() < timedelta(days=365)
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_a_password_manager_is_led_to_the_page_that_changes_the_password():
    visitor = logged_in(account())
    answer = visitor.get("/.well-known/change-password", follow=True)
    assert answer.status_code == 200
    assert 'autocomplete="new-password"' in text_of(answer)
    # A program requests this address to check that missing pages get 404.
    missing = "/.well-known/resource-that-should-not-exist"
    assert visitor.get(missing).status_code == 404
