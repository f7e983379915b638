"""A login with a provider in a real browser.

Only a browser shows that the Content-Security-Policy lets a form redirect to another
site, and that the session survives the visit there.
"""

import pytest
from playwright.sync_api import expect

from tests.journeys.conftest import TIMEOUT_MS
from tests.support.cabinet_server import cabinet_server
from tests.support.oidc_provider import oidc_provider


@pytest.mark.long
def test_alice_logs_in_with_the_provider_without_javascript(browser, tmp_path):
    with oidc_provider() as provider:
        settings = {
            "READBACK_OIDC_ISSUER": provider.issuer,
            "READBACK_OIDC_CLIENT_ID": provider.client_id,
            "READBACK_OIDC_CLIENT_SECRET": provider.client_secret,
            "READBACK_OIDC_NAME": "Example Staff",
            "READBACK_OIDC_ONLY": "on",
        }
        provider.add("alice", "alice@example.org")
        with cabinet_server(tmp_path, settings) as cabinet:
            provider.allow(f"{cabinet.url}/accounts/oidc/callback/")
            context = browser.new_context(java_script_enabled=False, locale="en-GB")
            context.set_default_timeout(TIMEOUT_MS)
            page = context.new_page()
            page.goto(f"{cabinet.url}/keys/")
            page.get_by_role("button", name="Log in with Example Staff").click()
            page.wait_for_url(f"{provider.issuer}/**")
            page.locator("[name=login]").fill("alice")
            page.locator("[name=password]").fill(provider.password)
            page.locator("[name=password]").press("Enter")

            page.wait_for_url(f"{cabinet.url}/keys/")
            expect(page.get_by_role("heading", level=1)).to_have_text("Keys")
            context.close()
        assert provider.client_secret not in cabinet.stderr
        assert "alice@" not in cabinet.stderr
