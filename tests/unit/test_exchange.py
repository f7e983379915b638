"""What the owner of a key may know of a caller."""

import pytest

from readback.api.endpoints.exchange import shortened
from readback.api.endpoints.request_info import user_agent_of
from readback.api.http.head import parse


@pytest.mark.parametrize(
    "address, shown",
    [
        ("203.0.113.77", "203.0.113.x"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("2001:db8::77", "2001:db8::"),
        ("::ffff:203.0.113.77", "203.0.113.x"),
        ("::1", "::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
        ("<script>", ""),
        ("203.0.113.77, 10.0.0.1", ""),
    ],
)
def test_an_address_is_shortened(address: str, shown: str) -> None:
    assert shortened(address) == shown


@pytest.mark.parametrize(
    "sent, shown",
    [
        (b"curl/8.5.0", "curl/8.5.0"),
        (b"caf\xc3\xa9\t1", "caf???1"),
        (b"x" * 500, "x" * 80),
    ],
)
def test_a_program_is_named_in_printable_ascii(sent: bytes, shown: str) -> None:
    head = parse(b"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: " + sent + b"\r\n\r\n")
    assert user_agent_of(head) == shown
