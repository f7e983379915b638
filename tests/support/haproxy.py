"""The HAProxy configuration that we ship, changed to run on this machine."""

import re

from tests.support.commands import free_port


def on_loopback(configuration: str, network: str) -> str:
    """Replace the ports with free ones on loopback, and replace the fixed addresses.

    `network`, such as "127.88.1.", replaces the beginning of these addresses.
    """
    text = re.sub(
        r"bind :\d+", lambda _: f"bind 127.0.0.1:{free_port()}", configuration
    )
    return text.replace(" 10.0.0.", f" {network}")
