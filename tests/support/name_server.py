"""A DNS server with a fixed table of names."""

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

Answer = Callable[[str], Sequence[str] | None]

_A = 1
_AAAA = 28
_NO_ERROR = 0x8180
_NO_SUCH_NAME = 0x8183


def table(names: Mapping[str, Sequence[str]]) -> Answer:
    """Return a function that finds the addresses of these names, and of no others."""
    return names.get


def serve(sock: socket.socket, answer: Answer) -> None:
    """Answer the questions that arrive on a socket until it is closed."""
    with suppress(OSError):
        while True:
            question, client = sock.recvfrom(512)
            if not question:  # The socket was shut down.
                return
            sock.sendto(respond(question, answer), client)


def respond(question: bytes, answer: Answer) -> bytes:
    name, end = _name(question)
    (record_type,) = struct.unpack("!H", question[end : end + 2])
    asked = question[12 : end + 4]
    addresses = answer(name)
    if addresses is None:
        return question[:2] + struct.pack("!5H", _NO_SUCH_NAME, 1, 0, 0, 0) + asked
    family = {_A: socket.AF_INET, _AAAA: socket.AF_INET6}.get(record_type)
    packed = [
        socket.inet_pton(family, address)
        for address in addresses
        if family and (family == socket.AF_INET6) == (":" in address)
    ]
    head = struct.pack("!5H", _NO_ERROR, 1, len(packed), 0, 0)
    records = b"".join(
        b"\xc0\x0c" + struct.pack("!HHIH", record_type, 1, 0, len(address)) + address
        for address in packed
    )
    return question[:2] + head + asked + records


def _name(question: bytes) -> tuple[str, int]:
    """Return the name in the question and where it ends."""
    labels = []
    place = 12
    while size := question[place]:
        labels.append(question[place + 1 : place + 1 + size].decode())
        place += size + 1
    return ".".join(labels), place + 1
