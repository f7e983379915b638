"""From a new key to the first answered request; from the start in `test_send_test`."""

from tests.journeys.person import MODEL, TEXT


def test_a_program_gets_an_answer_and_the_page_shows_it(a_member):
    from openai import OpenAI

    alice = a_member()
    page = alice.page
    alice.create_key()
    key_path = alice.key_path

    client = OpenAI(base_url=alice.shown_address(), api_key=alice.key)
    response = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": TEXT}]
    )
    assert response.choices[0].message.content == TEXT

    # The page updates without any action since the key was copied.
    alice.expect_to_see("Your text came back unchanged.")
    alice.expect_to_see("accepted")
    alice.expect_no_sideways_scrolling()

    page.goto(key_path)
    alice.expect_to_see("chat 200")
    alice.expect_to_see("OpenAI/Python")
    alice.expect_no_sideways_scrolling()
    page.goto("/keys/")
    alice.expect_to_see("laptop")
    alice.expect_no_sideways_scrolling()


def test_a_new_user_gets_an_answer_without_javascript(a_person, server):
    alice = a_person(java_script_enabled=False)
    alice.sign_up()
    alice.page.goto("/keys/")
    alice.send_form(label="no scripts")
    alice.key = alice.page.locator("#key").inner_text()
    key_path = alice.key_path

    assert alice.send_request()[0] == 200

    alice.page.goto(key_path)
    while alice.page.locator("text=chat 200").count() == 0:
        alice.page.reload()
    assert alice.page.locator("[data-copy]").first.is_hidden()
