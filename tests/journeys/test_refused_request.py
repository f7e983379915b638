"""Refusals are explained in their body once the key's owner turns this on."""

import pytest

from tests.support.waiting import wait_until


@pytest.mark.long
def test_the_body_explains_refusals_once_the_owner_wants_it(a_member):
    alice = a_member()
    alice.create_key()
    shown_once = alice.page.url
    alice.send_request(stream=True)
    alice.page.get_by_role("button", name="Explain refusals in the body").click()
    alice.expect_to_see("Refusals with this key are explained in their body.")
    assert alice.page.url == shown_once  # the key is still there

    def message() -> str:
        return alice.send_request(stream=True)[1]["error"].get("message", "")

    wait_until(message, "the API has read the option")
    assert message().startswith("stream must be false or omitted; got true.")
    # The request was sent again, so the page no longer asks for it.
    alice.page.get_by_text("Send the request again.").wait_for(state="detached")
    assert alice.send_request()[0] == 200
    alice.expect_to_see("Your text came back unchanged.")
