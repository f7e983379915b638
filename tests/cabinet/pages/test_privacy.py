"""The privacy page names every table and cookie, and shows the configured times."""

import pytest
from django.apps import apps
from django.core.cache import cache
from django.test import override_settings

from readback.cabinet.accounts import services
from readback.cabinet.models import CacheEntry
from readback.config import Config
from tests.cabinet.owners import ALICE
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of

pytestmark = pytest.mark.usefixtures("database")

# Tables without personal data, and why.
WITHOUT_PERSONS = {
    "account.emailconfirmation": "links are signed and not stored, so it is empty",
    "auth.group": "the names of rights",
    "auth.permission": "the names of rights",
    "cabinet.lastbackup": "the time of the last backup",
    "cabinet.mailtotal": "sums of all mails",
    "contenttypes.contenttype": "the names of the tables",
    "socialaccount.socialapp": "providers are in the settings, so it is empty",
    "socialaccount.socialtoken": "tokens are not stored, so it is empty",
}


def page(**settings) -> str:
    with override_settings(CONFIG=Config(**settings)):
        return words_of(Visitor().get("/privacy"))


def test_the_page_names_every_table_about_persons():
    html = text_of(Visitor().get("/privacy"))
    rows = html.split('data-models="')[1:]
    named = {label for row in rows for label in row.partition('"')[0].split()}

    tables = {model._meta.label_lower for model in apps.get_models()}
    assert named | set(WITHOUT_PERSONS) == tables
    assert not named & set(WITHOUT_PERSONS)


def test_the_figures_are_those_of_the_settings():
    default = page()
    assert "400 days" in default and "30 days, and at most the last 100" in default
    assert "endpoint and outcome. 400 days" in default
    assert "sees them. 10 minutes" in default
    assert "2 days after the last use, and at most 14 days after the login" in default
    assert "at most 24 hours; then they are deleted within minutes" in default

    other = page(usage_days=17, journal_days=1, unmatched_requests=False)
    assert "endpoint and outcome. 17 days" in other
    assert "1 day, and at most the last 100 accepted" in other
    assert "The operator has turned this off. never stored" in other
    with override_settings(SESSION_COOKIE_AGE=5 * 86400):
        assert "5 days after the last use" in page()


def test_the_page_names_every_cookie():
    services.account_create(ALICE, PASSWORD, confirmed=True)
    visitor = Visitor()
    visitor.log_in(ALICE)
    visitor.send("/keys/", {"label": "laptop"})
    visitor.post("/language/", {"language": "en"})
    set_cookies = set(visitor.client.cookies)
    assert {"session", "csrf", "language"} <= set_cookies

    named = text_of(Visitor().get("/privacy"))

    assert [name for name in set_cookies if f"<code>{name}" not in named] == []


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("", "The operator of this service, who has not named a contact."),
        ("mailto:privacy@example.org", "You reach them here: privacy@example.org"),
        ("https://example.org/contact", "here: https://example.org/contact"),
    ],
)
def test_the_page_says_who_is_responsible(contact, shown):
    with override_settings(CONFIG=Config(contact=contact)):
        html = text_of(Visitor().get("/privacy"))
    assert shown in page(contact=contact)
    assert not contact or f'href="{contact}"' in html


def test_expired_counters_are_deleted():
    services.account_create(ALICE, PASSWORD, confirmed=True)
    cache.set("expired", "203.0.113.7", -60)
    cache.set("lasting", "203.0.113.8", 60)
    assert CacheEntry.objects.count() == 2

    services.expired_delete()

    keys = " ".join(CacheEntry.objects.values_list("cache_key", flat=True))
    assert "lasting" in keys and "expired" not in keys
