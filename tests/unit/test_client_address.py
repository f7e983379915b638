"""The address of a client behind the operator's own proxies."""

import pytest

from readback.client_address import (
    UNKNOWN,
    address_in,
    forwarded_entry,
    network,
    network_digest,
    shorten,
)


@pytest.mark.parametrize(
    "header, proxies, address",
    [
        # No proxy is trusted, or the header has fewer entries than trusted proxies:
        # only the connection's own address is certain.
        ("192.0.2.1", 0, None),
        ("", 1, None),
        ("192.0.2.1", 2, None),
        # Each proxy appends an address; what the client wrote comes first.
        ("192.0.2.1", 1, "192.0.2.1"),
        ("203.0.113.9, 192.0.2.1", 1, "192.0.2.1"),
        ("203.0.113.9, 192.0.2.1, 198.51.100.7", 2, "192.0.2.1"),
        # Some proxies write a port, which differs on each connection.
        ("192.0.2.1:50112", 1, "192.0.2.1"),
        ("[2001:db8::1]:50112", 1, "2001:db8::1"),
        ("[2001:db8::1]", 1, "2001:db8::1"),
        ("2001:DB8::1", 1, "2001:db8::1"),
        # Anything else is not an address, and must not be taken for one.
        ("unknown", 1, UNKNOWN),
        ("_hidden", 1, UNKNOWN),
        ("192.0.2.1, ", 1, UNKNOWN),
        ("192.0.2.1 192.0.2.2", 1, UNKNOWN),
        ("[::1", 1, UNKNOWN),
        ("2001:db8::1]", 1, UNKNOWN),
        ("alice@192.0.2.1", 1, UNKNOWN),
        # Two spellings of one address mean the same client.
        ("::ffff:192.0.2.1", 1, "192.0.2.1"),
        ("fe80::1%eth0", 1, "fe80::1"),
        ("\ufffd", 1, UNKNOWN),
    ],
)
def test_the_entry_of_the_outermost_trusted_proxy_counts(
    header: str, proxies: int, address: str | None
) -> None:
    entry = forwarded_entry(header, proxies)
    assert (entry if entry is None else address_in(entry)) == address


@pytest.mark.parametrize(
    "address, shown",
    [
        ("203.0.113.77", "203.0.113.x"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("2001:db8::77", "2001:db8::"),
        ("::ffff:203.0.113.77", "203.0.113.x"),
        ("::1", "::"),
        ("fe80::1%eth0", "fe80::"),
        ("", UNKNOWN),
        ("<script>", UNKNOWN),
        ("203.0.113.77, 10.0.0.1", UNKNOWN),
    ],
)
def test_an_address_is_shortened(address: str, shown: str) -> None:
    assert shorten(address) == shown


@pytest.mark.parametrize(
    "same",
    [
        ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"],
        ["192.0.2.1", "::ffff:192.0.2.1"],
        ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2::%eth0"],
        ["", "unknown", "192.0.2.1.x"],
    ],
)
def test_addresses_of_one_network(same):
    assert len({network(address) for address in same}) == 1


def test_addresses_of_different_networks():
    apart = ["127.0.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"]
    assert len({network(address) for address in apart}) == len(apart)


def test_a_network_is_hashed_with_a_key():
    assert network_digest("192.0.2.1", b"k") == network_digest("::ffff:192.0.2.1", b"k")
    assert network_digest("192.0.2.1", b"k") != network_digest("192.0.2.1", b"l")
    assert network_digest("192.0.2.1", b"k") != network_digest("192.0.2.2", b"k")
    assert network_digest("unknown", b"k") == b""
