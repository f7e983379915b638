"""A service with its operator's name and look, on a desktop and on a phone."""

import pytest

from tests.journeys.conftest import DESKTOP
from tests.journeys.test_every_page import (
    AXE,
    CONTRAST,
    MARK_ONE_OF_EACH_KIND,
    NARROW,
    run_axe,
)
from tests.support.brand_folder import fill
from tests.support.server import ephemeral_server

pytestmark = pytest.mark.long

# The longest allowed name, without a place where a line may break.
NAME = "Donaudampfschifffahrtsgesellschaft-Tests"
STYLE = """element => getComputedStyle(element).backgroundColor"""
LOGO = "image => image.complete && image.naturalWidth > 0 && image.currentSrc"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for these tests, instead of the one that other journeys share."""
    folder, brand = (tmp_path_factory.mktemp(name) for name in ("server", "brand"))
    settings = {
        "READBACK_SITE_NAME": NAME,
        "READBACK_BRAND_DIR": str(fill(brand)),
    }
    with ephemeral_server(folder, settings) as running:
        yield running


def test_the_look_of_another_name(open_page, server):
    page = open_page()
    for scheme, logo in (("light", "logo.svg"), ("dark", "logo-dark.png")):
        page.emulate_media(color_scheme=scheme)
        for size in (DESKTOP, NARROW):
            page.set_viewport_size(size)
            page.goto("/")
            assert page.title().startswith(NAME)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= size["width"]
            found = page.locator(".brand img").evaluate(LOGO)
            assert found == f"{server.cabinet_url}/brand/{logo}"
            assert page.locator(".brand-name").is_visible()
        page.evaluate(AXE)
        page.evaluate(MARK_ONE_OF_EACH_KIND)
        assert not run_axe(page, "{include: [['[data-kind]']]}", CONTRAST)
    page.emulate_media(color_scheme="light")
    assert page.locator(".hero .button").first.evaluate(STYLE) == "rgb(122, 31, 92)"


def test_a_logo_that_is_opened_runs_no_script(browser, server):
    with browser.new_context(base_url=server.cabinet_url) as context:
        page = context.new_page()
        with page.expect_event("console") as blocked:
            page.goto("/brand/logo.svg")
        assert "Blocked script execution" in blocked.value.text
        assert page.title() != "from the logo"
