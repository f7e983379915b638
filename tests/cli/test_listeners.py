"""For whom an address is in use once the command listens on it."""

import pytest

from readback import config
from readback.cli import listeners
from readback.setting_values import Bind
from tests.support.programs import needed_address


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_has_one_socket_and_a_second_server_has_none(host: str) -> None:
    settings = config.read(
        {
            "READBACK_API_BIND": str(Bind(needed_address(host), 0)),
            "READBACK_OPS_BIND": "127.0.0.1:0",
            "READBACK_WORKERS": "3",
        }
    )
    api, ops = listeners.open_for_api(settings)
    with api, ops:
        bind = listeners.bind_of(api)
        # A second server begins with this, and so does `readback doctor`.
        with pytest.raises(OSError, match="in use"):
            listeners.check_can_listen(bind)
    listeners.check_can_listen(bind)
