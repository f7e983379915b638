"""The text does not come back unchanged."""

from tests.probe import corruptions
from tests.probe.setups import Scenario, through_relay

ECHO = (
    Scenario(
        "a proxy changes the character encoding",
        "echo.changed",
        through_relay(on_response=corruptions.recode_as_cp1251),
    ),
    Scenario(
        "a cache or recording responds",
        "echo.replayed",
        through_relay(on_response=corruptions.repeat_id),
    ),
)
