"""A key that is revoked on the page is refused by the API."""

import pytest

from tests.support.waiting import wait_until


@pytest.mark.long
def test_a_revoked_key_is_refused(a_member):
    alice = a_member()
    alice.create_key()
    assert alice.send_request()[0] == 200

    alice.page.goto(alice.key_path)
    alice.page.locator("a.danger").click()
    alice.page.wait_for_url("**/revoke/")
    alice.send_form()
    alice.page.wait_for_url("**/keys/")
    alice.expect_to_see("is revoked. The API no longer accepts it.")

    wait_until(lambda: alice.send_request()[0] != 200, "the key is refused")
    assert alice.send_request() == (401, {"error": {"code": "invalid_key"}})
