"""Reading certificates, and bytes that are not certificates."""

import ssl
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from readback.probe.connection import certificates
from tests.support.authority import DAY, Authority


def der_of(path: Path) -> bytes:
    pem = path.read_text()
    return ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE") :])


def test_names_issuer_and_dates_are_read(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "Tests Root")
    authority.serves("echo.example", until=30 * DAY)
    [path] = set(tmp_path.glob("*.pem")) - {authority.root}
    read = certificates.read(der_of(path))
    assert (read.subject, read.issuer) == ("echo.example", "Tests Root")
    assert read.since and read.until
    assert read.until - read.since == 31 * DAY
    assert abs(read.since - (datetime.now(UTC) - DAY)) < DAY / 24
    assert not read.expires_soon
    assert not read.is_interception


@pytest.mark.parametrize(
    ("age", "left", "is_soon"),
    [(76, 15, False), (77, 13, True), (1, 6, False), (6, 1, True)],
)
def test_a_certificate_expires_soon_if_it_should_have_been_renewed(
    age: int, left: int, is_soon: bool
) -> None:
    now = datetime.now(UTC)
    known = certificates.Certificate("", "", now - age * DAY, now + left * DAY)
    assert known.expires_soon == is_soon


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (x509.IPAddress(ip_address("127.0.0.1")), "127.0.0.1"),
        (x509.IPAddress(ip_address("2001:db8::1")), "2001:db8::1"),
        (x509.UniformResourceIdentifier("spiffe://mesh/echo"), "spiffe://mesh/echo"),
        (x509.RFC822Name("alice@example.org"), "alice@example.org"),
        (x509.RegisteredID(x509.ObjectIdentifier("1.2.3.4")), "owner"),
        (x509.DirectoryName(x509.Name([])), "owner"),
    ],
)
def test_a_name_of_any_kind_is_readable_or_left_out(
    name: x509.GeneralName, shown: str, tmp_path: Path
) -> None:
    kind = x509.SubjectAlternativeName
    changes = {kind: (kind([name]), False)}
    path = Authority(tmp_path).issue("owner", changes=changes)
    assert certificates.read(der_of(path)).subject == shown


@pytest.mark.parametrize("issuer", ["mitmproxy", "FortiGate CA", "Acme SSL Inspection"])
def test_an_intercepting_product_is_recognized_by_its_name(
    issuer: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path, issuer)
    assert certificates.read(der_of(authority.root)).is_interception


@given(st.binary(max_size=200))
def test_bytes_that_are_not_a_certificate_raise_no_error(junk: bytes) -> None:
    assert isinstance(certificates.read(junk), certificates.Certificate)


def test_a_truncated_certificate_raises_no_error(tmp_path: Path) -> None:
    der = der_of(Authority(tmp_path).root)
    for size in range(len(der)):
        certificates.read(der[:size])
