"""A request that is refused is explained where its sender looks, while they look."""

import pytest


@pytest.fixture
def alice(a_person):
    alice = a_person()
    alice.sign_up()
    alice.create_key()
    return alice


def test_a_field_too_many_is_named_on_the_page_of_the_new_key(alice):
    status, body = alice.ask(temperature=0.7)
    assert (status, body) == (400, {"error": {"code": "unknown_field"}})

    alice.expect_to_see("refused")
    alice.expect_to_see("temperature")
    alice.expect_to_see("Send only model, messages, stream and max_tokens")
    alice.take_picture("refusal-explained")

    alice.page.locator("main a[href$='#unknown_field']").click()
    alice.page.wait_for_url("**/docs/errors#unknown_field")
    alice.take_picture("docs")


def test_mending_it_turns_the_page_to_accepted(alice):
    alice.ask(stream=True)
    alice.expect_to_see("stream_unavailable")

    assert alice.ask()[0] == 200

    alice.expect_to_see("Your text was read back, unchanged.")


def test_a_wrong_path_appears_live_in_the_journal_with_the_slip_named(alice):
    alice.page.goto(alice.key_path)
    alice.expect_to_see("Nothing has arrived with this key yet.")

    assert alice.ask("/v1/chat/completions")[0] == 404

    alice.expect_to_see("not_found")
    alice.expect_to_see("/v1")
    alice.expect_to_see("journey/1.0")
    alice.take_picture("wrong-path")


def test_the_filter_holds_while_new_rows_arrive(alice):
    alice.page.goto(alice.key_path)
    alice.ask(stream=True)
    alice.expect_to_see("stream_unavailable")
    alice.page.locator(".filter a[href$='=refused']").click()

    alice.ask()
    alice.ask(temperature=1)

    alice.expect_to_see("unknown_field")
    assert alice.page.locator("text=chat 200").count() == 0
    alice.take_picture("only-refused")
