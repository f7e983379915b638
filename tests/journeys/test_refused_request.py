"""A refused request is explained live on the pages of its key."""

import pytest

from tests.support.waiting import wait_until


@pytest.fixture
def alice(a_member):
    alice = a_member()
    alice.create_key()
    return alice


@pytest.mark.long
def test_the_body_explains_refusals_once_the_owner_wants_it(alice):
    shown_once = alice.page.url
    alice.send_request(stream=True)
    alice.page.get_by_role("button", name="Explain refusals in the body").click()
    alice.expect_to_see("Refusals with this key are explained in their body.")
    assert alice.page.url == shown_once  # the key is still there

    def message() -> str:
        return alice.send_request(stream=True)[1]["error"].get("message", "")

    wait_until(message, "the API has read the option")
    assert message().startswith("stream must be false or omitted; got true.")
    # A request has arrived since, so there is none to send again.
    alice.page.get_by_text("Send the request again.").wait_for(state="detached")


def test_the_page_shows_accepted_after_the_fix(alice):
    alice.send_request(stream=True)
    alice.expect_to_see("stream_unavailable")

    assert alice.send_request()[0] == 200

    alice.expect_to_see("Your text came back unchanged.")


def test_a_wrong_path_appears_live_in_the_journal_and_is_explained(alice):
    alice.page.goto(alice.key_path)
    alice.expect_to_see("No requests with this key yet.")

    assert alice.send_request("/v1/chat/completions")[0] == 404

    alice.expect_to_see("not_found")
    alice.expect_to_see("/v1")
    alice.expect_to_see("journey/1.0")
