"""Loses packets for real: a socket filter of the kernel drops them before TCP.

The sender notices nothing, waits and sends each of them again, as on a bad Wi-Fi. Only
packets with data on their way to the server are lost; those on the way back and the
ones that open a connection are not.
"""

import ctypes
import socket
import struct
import sys

import pytest

_SO_ATTACH_FILTER = 26
_TCP_FLAGS, _PUSH = 13, 0x08
# Offsets into the IP header count from here (SKF_NET_OFF).
_IP_HEADER = 2**32 - 0x100000
_IDENTIFICATION = _IP_HEADER + 4
_LOAD_BYTE, _LOAD_HALF = 0x30, 0x28
_MODULO, _JUMP_IF_SET, _JUMP_IF_EQUAL, _RETURN = 0x94, 0x45, 0x15, 0x06
_WHOLE_PACKET = 0x40000


def lose_packets(listener: socket.socket, one_in: int) -> None:
    """Drop one in `one_in` packets with data that the connections of a socket receive.

    The packets of a connection are numbered, and what is sent again has a new number.
    """
    if sys.platform != "linux":
        pytest.skip("needs the socket filters of Linux")
    program = (
        (_LOAD_BYTE, 0, 0, _TCP_FLAGS),
        (_JUMP_IF_SET, 0, 3, _PUSH),
        (_LOAD_HALF, 0, 0, _IDENTIFICATION),
        (_MODULO, 0, 0, one_in),
        (_JUMP_IF_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _WHOLE_PACKET),
        (_RETURN, 0, 0, 0),
    )
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    lines = ctypes.create_string_buffer(code)
    value = struct.pack("HL", len(program), ctypes.addressof(lines))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, value)
