"""Beside the snippets, the latest request stays in view and covers nothing."""

import pytest

from tests.journeys.conftest import DESKTOP

# At once, because positions differ while the page scrolls smoothly.
POSITIONS = """() => {
    const end = document.getElementById("nothing-arrives");
    end.scrollIntoView({ block: "end", behavior: "instant" });
    const column = document.querySelector(".side-column");
    const live = column.querySelector("[data-live-url]").getBoundingClientRect();
    return [live.top, column.getBoundingClientRect().bottom, live.bottom];
}"""


@pytest.mark.long
def test_the_latest_request_stays_in_view_and_covers_nothing(a_member):
    alice = a_member(viewport=DESKTOP)
    alice.create_key()
    # What other journeys have sent without a key is no longer shown then.
    alice.send_request()
    alice.expect_to_see("Your text came back unchanged.")
    top, end_of_column, bottom = alice.page.evaluate(POSITIONS)

    assert 0 <= top < DESKTOP["height"] / 2
    assert end_of_column >= bottom
