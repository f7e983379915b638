"""The connection works, but other programs on this machine read other settings."""

from readback.keys import mint
from tests.probe.setups import Scenario
from tests.probe.setups_clients import (
    login_in_netrc,
    proxy_for_this_machine,
    with_private_store,
    with_variables,
)

CLIENTS = (
    Scenario(
        "a proxy is set, and this machine itself is not excluded",
        "proxies.loopback",
        proxy_for_this_machine,
    ),
    Scenario(
        "`REQUESTS_CA_BUNDLE` names a file that does not exist",
        "clients.certificates",
        with_private_store(REQUESTS_CA_BUNDLE="/does/not/exist.pem"),
    ),
    Scenario("`.netrc` has a login for the host", "clients.netrc", login_in_netrc),
    Scenario(
        "`OPENAI_BASE_URL` names another address",
        "clients.base_url_variable",
        with_variables(lambda _: {"OPENAI_BASE_URL": "http://other.test/v1"}),
    ),
    Scenario(
        "`OPENAI_API_KEY` holds another key",
        "clients.key_variable",
        with_variables(
            lambda one: {
                "OPENAI_BASE_URL": one.readback.base_url,
                "OPENAI_API_KEY": mint(),
            }
        ),
    ),
)
