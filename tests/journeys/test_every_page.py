"""Rules for every page: accessibility, width, weight and keyboard use."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.journeys.conftest import DESKTOP, MISSING
from tests.journeys.person import MODEL

NARROW = {"width": 360, "height": 740}
AXE = Axe().axe_script
BUDGET = 60_000
"""The maximum size in bytes of a page and everything it loads, uncompressed."""
WITH_STYLES = 20_000
"""Pages that are smaller have not loaded their styles."""
# The size of the page and of everything it loaded, except what it polls.
WEIGHT = """[
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource"),
]
    .filter(entry => entry.initiatorType !== "fetch")
    .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""

PUBLIC_PAGES = [
    "/",
    "/docs/",
    "/docs/connect",
    "/docs/programs",
    "/docs/errors",
    "/privacy",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/confirm-email/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    MISSING,
]
KEY_PAGES = [
    *("/keys/", "{key}", "{key}?outcome=refused", "{key}unmatched/", "{key}revoke/"),
    "{key}?outcome=rehearsed",
    *("{key}rename/", "{key}rotate/"),
    "/account/",
    "/account/data/",
    "/account/sessions/",
    "/account/second-factor/",
    "/account/second-factor/totp/activate/",
    "/account/second-factor/webauthn/add/",
    "/accounts/reauthenticate/",
]


def pages_of(person) -> list[str]:
    """Create a key, send an accepted and a refused request, and return the pages."""
    person.create_key("a name that is rather long, as names of machines can be")
    key = person.key_path
    person.page.locator("#send-test form button").click()
    expect(person.page.locator(".verdict.is-accepted")).to_be_visible()
    person.send_request()
    person.send_request(temperature=0.7)
    person.expect_to_see("unknown_field")
    return [path.replace("{key}", key) for path in KEY_PAGES]


# Without `resultTypes`, axe also describes correct elements. Only rules about audio and
# the orientation of phones need `preload`, which adds inline styles.
OPTIONS = {"resultTypes": ["violations"], "preload": False}
# axe spends most of its time on contrast. Dark mode changes only colours, so there it
# checks one element for each combination of colours and font.
CONTRAST = {"runOnly": ["color-contrast"]}
MARK_ONE_OF_EACH_KIND = """() => {
    const kinds = new Set();
    const hasText = (element) =>
        element.matches("input, select, textarea") ||
        [...element.childNodes].some(
            (node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    for (const element of [...document.body.querySelectorAll("*")].filter(hasText)) {
        const { color, fontSize, fontWeight } = getComputedStyle(element);
        const kind = [color, fontSize, fontWeight];
        for (let each = element; each; each = each.parentElement) {
            const style = getComputedStyle(each);
            kind.push(style.backgroundColor, style.backgroundImage, style.opacity);
        }
        if (!kinds.has(kind.join())) element.dataset.kind = "";
        kinds.add(kind.join());
    }
}"""
# The colours of Django's links change over 0.15 s.
FINISH_TRANSITIONS = "() => document.getAnimations().forEach(each => each.finish())"


def violations(page) -> list[str]:
    """Return what axe reports in light and in dark colours."""
    page.evaluate(AXE)
    page.emulate_media(color_scheme="light")
    page.evaluate(FINISH_TRANSITIONS)
    found = run_axe(page, "document", {})
    page.emulate_media(color_scheme="dark")
    page.evaluate(FINISH_TRANSITIONS)
    page.evaluate(MARK_ONE_OF_EACH_KIND)
    return found + run_axe(page, "{include: [['[data-kind]']]}", CONTRAST)


def run_axe(page, elements: str, rules: dict[str, list[str]]) -> list[str]:
    report = page.evaluate(
        f"options => axe.run({elements}, options)", {**rules, **OPTIONS}
    )
    return [f"{v['id']}: {v['nodes'][0]['html']}" for v in report["violations"]]


def ignore_cache(page) -> None:
    """Make every page load everything, as on a first visit.

    Otherwise cached styles and scripts count as 0 bytes once they are a minute old.
    """
    developer_tools = page.context.new_cdp_session(page)
    developer_tools.send("Network.enable")
    developer_tools.send("Network.setCacheDisabled", {"cacheDisabled": True})


def broken_rules(page, *, axe: bool) -> list[str]:
    """Return the rules that the open page breaks, on a desktop or a phone."""
    # The answer to a form may be visible before its styles have arrived.
    page.wait_for_load_state()
    size = page.evaluate(WEIGHT)
    found = [] if WITH_STYLES < size < BUDGET else [f"{size} bytes"]
    if axe:
        found += violations(page)
    for screen in (NARROW, DESKTOP):
        page.set_viewport_size(screen)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > screen["width"]:
            found.append(f"{width} pixels wide")
    return [f"{page.url}: {each}" for each in found]


@pytest.mark.long
@pytest.mark.parametrize("locale", ["en-GB", "ru-RU"])
def test_every_public_page_keeps_the_rules(open_page, locale):
    page = open_page(locale=locale)
    found = []
    ignore_cache(page)
    for path in PUBLIC_PAGES:
        page.goto(path)
        found += broken_rules(page, axe=locale == "en-GB")

    assert not found


@pytest.mark.long
@pytest.mark.parametrize("locale", ["en-GB", "ru-RU"])
def test_every_page_of_an_account_keeps_the_rules(a_member, locale):
    alice = a_member(locale=locale)
    ignore_cache(alice.page)
    axe = locale == "en-GB"
    paths = pages_of(alice)
    found = broken_rules(alice.page, axe=axe)
    for path in paths:
        alice.page.goto(path)
        found += broken_rules(alice.page, axe=axe)
    alice.page.goto("/accounts/password/change/")
    alice.send_form(oldpassword="wrong", password1="too short")
    expect(alice.page.locator(".errorlist")).to_have_count(2)
    found += broken_rules(alice.page, axe=axe)

    assert not found


@pytest.mark.long
def test_the_list_of_keys_fits_a_phone_with_any_names(a_member):
    """The links of each key are visible, on a phone and on a desktop."""
    alice = a_member(viewport=NARROW, locale="ru-RU")
    for name in ("W" * 60, "👩🏽‍🚀" * 15, "מפתח" * 15):
        alice.create_key(name)
    alice.page.goto("/keys/")
    for width in (360, 720, 1440):
        alice.page.set_viewport_size({"width": width, "height": 740})
        alice.expect_no_sideways_scrolling()
        links = alice.page.locator(".key-links a").all()
        assert len(links) == 6
        for box in (link.bounding_box() for link in links):
            assert box["x"] >= 0 and box["x"] + box["width"] <= width


def test_a_key_can_be_created_with_the_keyboard_only(a_member):
    page = a_member().page
    page.goto("/keys/")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "label":
            break
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")

    page.wait_for_url("**/keys/*/new/")


def test_a_copy_button_copies_confirms_and_resets_its_label(a_member):
    alice = a_member()
    # The test advances the page's clock.
    alice.page.clock.install()
    alice.create_key()
    alice.page.clock.pause_at(alice.page.evaluate("Date.now()") / 1000 + 60)
    button = alice.page.locator(".settings [data-copy]").last
    button.click()

    expect(button).to_have_text("Copied Model")
    assert alice.clipboard() == MODEL
    alice.page.clock.run_for(2000)
    expect(button).to_have_text("Copy Model")
