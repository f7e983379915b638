"""What the owner of a key may see of a client's address."""

import pytest

from readback.api.endpoints.exchange import shortened


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
def test_a_client_address_is_shortened(address: str, shown: str) -> None:
    assert shortened(address) == shown
