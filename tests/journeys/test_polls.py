"""How often a page polls, and when it stops."""

from playwright.sync_api import expect

from tests.support.waiting import wait_until

# Makes waits short, and records how long the page wanted to wait.
RECORD_WAITS = """
window.waits = [];
const wait = window.setTimeout;
window.setTimeout = (act, milliseconds) => {
    waits.push(milliseconds / 1000);
    return wait(act, 20);
};
"""
TWO_FRAMES = """() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done)))"""


def waits_of(page, number: int) -> list[float]:
    """Return the first waits of the page since it was loaded, in seconds."""
    wait_until(lambda: len(page.evaluate("waits")) >= number, "the page asks again")
    return page.evaluate("waits")[:number]


def at_page_of_key(alice):
    """Open the page of a new key, which records how long it waits."""
    alice.create_key()
    path = alice.key_path
    alice.page.add_init_script(RECORD_WAITS)
    alice.page.goto(path)
    return alice


def test_a_page_asks_less_often_while_nothing_happens(a_member):
    alice = at_page_of_key(a_member())
    assert waits_of(alice.page, 7) == [2, 4, 8, 16, 30, 30, 30]

    assert alice.send_request("/v1/chat/completions")[0] == 404
    alice.expect_to_see("not_found")
    wait_until(
        lambda: 2 in alice.page.evaluate("waits.slice(7)"), "the page asks soon again"
    )


def test_the_page_of_a_new_key_goes_on_asking_every_two_seconds(a_member):
    alice = a_member()
    alice.page.add_init_script(RECORD_WAITS)
    alice.page.goto("/keys/")
    alice.send_form(label="laptop")
    alice.page.wait_for_url("**/keys/*/new/")
    assert waits_of(alice.page, 7) == [2] * 7


def test_a_page_stops_asking_after_the_logout(a_member):
    alice = at_page_of_key(a_member())
    with alice.page.expect_response(lambda response: response.status == 302) as last:
        other = alice.page.context.new_page()
        other.goto("/keys/")
        other.locator("header form button").click()
        expect(other.locator(".messages")).to_be_visible()
    assert "/numbers/" in last.value.url
    alice.page.evaluate(TWO_FRAMES)
    before = len(alice.page.evaluate("waits"))
    alice.page.evaluate(TWO_FRAMES)
    assert len(alice.page.evaluate("waits")) == before
