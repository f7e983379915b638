"""HAProxy in tests: its shipped configuration on this machine, and its statistics."""

import csv
import re
import socket
from pathlib import Path

from tests.support.commands import free_port


def on_loopback(configuration: str, network: str) -> str:
    """Replace ports by free ones of the loopback interface, and the fixed addresses.

    `network` replaces the beginning of these addresses, for example by "127.88.1.".
    """
    text = re.sub(
        r"bind :\d+", lambda _: f"bind 127.0.0.1:{free_port()}", configuration
    )
    return text.replace(" 10.0.0.", f" {network}")


def statistics(control: Path) -> list[dict[str, str]]:
    """Return the table of proxies and servers, from the socket for operators."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(control))
        connection.sendall(b"show stat\n")
        text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return list(csv.DictReader(text.removeprefix("# ").splitlines()))
