"""The HAProxy configuration that we ship, changed to run on this machine."""

import re

from tests.support.commands import free_port


def on_loopback(configuration: str, network: str) -> str:
    """Replace ports by free ones of the loopback interface, and the fixed addresses.

    `network` replaces the beginning of these addresses, for example by "127.88.1.".
    """
    text = re.sub(
        r"bind :\d+", lambda _: f"bind 127.0.0.1:{free_port()}", configuration
    )
    return text.replace(" 10.0.0.", f" {network}")
