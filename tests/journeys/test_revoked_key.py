"""A key that is revoked on the page is refused by the API."""

import time

DEADLINE = 10.0


def test_a_revoked_key_is_refused(a_person):
    alice = a_person()
    alice.sign_up()
    alice.create_key()
    assert alice.send_request()[0] == 200

    alice.page.goto(alice.key_path)
    alice.page.locator("a.danger").click()
    alice.page.wait_for_url("**/revoke/")
    alice.send_form()
    alice.page.wait_for_url("**/keys/")
    alice.expect_to_see("is revoked. The API no longer accepts it.")

    deadline = time.monotonic() + DEADLINE
    while (response := alice.send_request())[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert response == (401, {"error": {"code": "invalid_key"}})
