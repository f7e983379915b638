"""The kernel's packet filter, with which a stop turns new clients away."""

import socket
import sys

import pytest

from readback.stop_listening import _attach_filter


def needed_packet_filter() -> None:
    """Skip the test if this user may not use the filter.

    Then a stop resets the clients that connect at its last moment, as
    docs/operations.md says. Some kernels allow the filter only with CAP_NET_ADMIN.
    """
    if sys.platform != "linux":
        pytest.skip("needs the packet filter of Linux")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        try:
            _attach_filter(listener)
        except PermissionError:
            pytest.skip("needs root: this kernel filters only with CAP_NET_ADMIN")
