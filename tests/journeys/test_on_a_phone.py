"""On a phone, rows fit the screen, buttons fit a finger, and keys can be read."""

import pytest
from playwright.sync_api import expect

from tests.journeys.conftest import DESKTOP
from tests.journeys.test_every_page import NARROW

# Whether the whole width of each element is on the screen.
ARE_ON_SCREEN = """elements => elements.length > 0 && elements.every((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.left >= 0 && box.right <= innerWidth;
})"""


@pytest.mark.parametrize(
    "locale", ["en-GB", pytest.param("ru-RU", marks=pytest.mark.long)]
)
def test_tables_of_the_documentation_show_every_column(open_page, locale):
    page = open_page(locale=locale, viewport=NARROW)
    for path in ("/docs/symptoms", "/docs/connect", "/docs/programs"):
        page.goto(path)
        assert page.locator(".document td").evaluate_all(ARE_ON_SCREEN), path


# Everything that can be pressed, except checkboxes, whose labels can be pressed, and
# links within text, because bigger links would move its lines apart.
SMALL_TARGETS = """() => [
    ...document.querySelectorAll(
        "button, summary, select, input:not([type=checkbox], [type=radio]), nav a, " +
        "header a, footer a, .key-links a, .small > a:only-child, .rows td + td a"),
].filter((element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && (width < 24 || height < 24);
}).map((element) => element.outerHTML)"""


@pytest.mark.long
@pytest.mark.parametrize("viewport", [NARROW, DESKTOP], ids=["phone", "desktop"])
def test_everything_to_press_is_big_enough_for_a_finger(a_member, viewport):
    """WCAG 2.2 (2.5.8) requires 24 pixels."""
    alice = a_member(viewport=viewport)
    alice.create_key("x")
    key = alice.key_path
    alice.send_request(temperature=0.7)
    alice.expect_to_see("unknown_field")
    found = alice.page.evaluate(SMALL_TARGETS)
    for path in ("/", "/docs/", "/docs/errors", "/keys/", key, "/account/"):
        alice.page.goto(path)
        found += alice.page.evaluate(SMALL_TARGETS)

    assert not found


FIT = """elements => elements.every(
    element => element.scrollWidth <= element.clientWidth)"""
SCROLLS = "element => element.scrollWidth > element.clientWidth"
FONT_SIZE = "element => parseFloat(getComputedStyle(element).fontSize)"
LAYERS = "element => getComputedStyle(element).backgroundAttachment"


def test_a_new_key_can_be_read_and_code_shows_that_it_scrolls(a_member):
    alice = a_member(viewport=NARROW)
    alice.create_key()
    values = alice.page.locator("#key, .settings code")

    expect(values).to_have_count(3)
    assert values.evaluate_all(FIT)
    assert alice.page.locator("#key").evaluate(FONT_SIZE) >= 14
    code = alice.page.locator(".snippet pre").first
    assert code.evaluate(SCROLLS)
    # One shadow stays at the edge of the box; a cover over it moves with the text.
    assert {"local", "scroll"} <= set(code.evaluate(LAYERS).split(", "))
