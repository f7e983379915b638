"""The check that a plane is ready: one HTTP request to one of its listeners."""

import socket

_TIMEOUT_SECONDS = 1


class ReadinessCheck:
    """A request to the address of a listener.

    The address is read at once, so the listener may be closed afterwards.
    """

    def __init__(self, listener: socket.socket, path: str) -> None:
        self._family = listener.family
        self._address = listener.getsockname()
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ).encode()

    def passes(self) -> bool:
        """Return whether the answer is 200."""
        try:
            with socket.socket(self._family) as client:
                client.settimeout(_TIMEOUT_SECONDS)
                client.connect(self._address)
                client.sendall(self._request)
                return client.recv(64).startswith(b"HTTP/1.1 200 ")
        except OSError:
            return False
