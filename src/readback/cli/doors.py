"""Knocking at a plane's door: does it answer that it is well?"""

import socket

_PATIENCE_SECONDS = 1


class Door:
    """The address of a listener, remembered after the listener has been given away."""

    def __init__(self, listener: socket.socket, path: str) -> None:
        self._family = listener.family
        self._name = listener.getsockname()
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ).encode()

    def answers(self) -> bool:
        """Whether the plane behind it says 200."""
        try:
            with socket.socket(self._family) as caller:
                caller.settimeout(_PATIENCE_SECONDS)
                caller.connect(self._name)
                caller.sendall(self._request)
                return caller.recv(64).startswith(b"HTTP/1.1 200 ")
        except OSError:
            return False
