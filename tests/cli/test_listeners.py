"""Who finds an address in use once the command listens on it."""

from dataclasses import replace

import pytest

from readback import config
from readback.cli import listeners
from readback.cli.exit_codes import CannotStart
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
    taken = replace(settings, cabinet_bind=listeners.bind_of(api))
    problem = "READBACK_CABINET_BIND: .* in use"
    with api, ops, pytest.raises(CannotStart, match=problem):
        listeners.open_for_cabinet(taken)
    listeners.open_for_cabinet(taken).close()
