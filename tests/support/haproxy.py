"""The shipped configuration of HAProxy, changed to run on this machine."""

import re

from tests.support.commands import free_port


def on_loopback(configuration: str, network: str) -> str:
    """Put free ports of the loopback interface in place of the ports, and addresses.

    `network` is what replaces the beginning of the fixed addresses, such as
    "127.88.1.".
    """
    text = re.sub(
        r"bind :\d+", lambda _: f"bind 127.0.0.1:{free_port()}", configuration
    )
    return text.replace(" 10.0.0.", f" {network}")
