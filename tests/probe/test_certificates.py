"""Reading certificates, and bytes that are not certificates."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
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
    assert read.days_left == 29
    assert not read.is_interception


def test_an_ip_address_in_a_certificate_is_shown_as_one(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.serves("127.0.0.1")
    [path] = set(tmp_path.glob("*.pem")) - {authority.root}
    assert certificates.read(der_of(path)).subject == "127.0.0.1"


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
