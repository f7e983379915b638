"""Times are shown in the reader's time zone, including those that arrive later."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from tests.journeys.person import Person

# Its offset is 5:30, so neither hours nor minutes match UTC.
ZONE = "Asia/Kolkata"


def expect_local_times(alice: Person, number: int) -> None:
    """Expect rows with the local time, and with the UTC time as a title."""
    times = alice.page.locator(".journal time")
    expect(times).to_have_count(number)
    for time in times.all():
        moment = datetime.fromisoformat(time.get_attribute("datetime") or "")
        local = moment.astimezone(ZoneInfo(ZONE))
        assert time.inner_text().split() == [f"{local:%m-%d}", f"{local:%H:%M:%S}"]
        assert time.get_attribute("title") == f"{moment:%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.long
def test_times_are_in_the_zone_of_the_browser(a_member):
    alice = a_member(timezone_id=ZONE, locale="ru-RU")
    alice.create_key()
    key = alice.key_path
    alice.send_request(stream=True)
    latest = alice.page.locator(".latest-request time")
    expect(latest).to_contain_text("GMT+5:30")

    alice.page.goto(key)
    expect(alice.page.locator(".journal thead")).to_contain_text("(GMT+5:30)")
    expect(alice.page.locator(".journal [data-zone]").first).to_have_attribute(
        "title", "Asia/Calcutta"
    )
    expect_local_times(alice, 1)
    alice.send_request()
    expect_local_times(alice, 2)

    alice.page.goto("/keys/")
    alice.expect_to_see("GMT+5:30")
