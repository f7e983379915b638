"""What is wrong with a certificate or its key is a sentence that names the file."""

import ssl
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from readback.cli import certificates
from readback.cli.certificates import UnusableCertificate
from readback.cli.doctor import CheckResult
from readback.cli.doctor.network import certificate
from readback.config import Config
from tests.support.authority import DAY, Authority

PASSWORD = b"a secret of Alice"
DAMAGED = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


class Files:
    """A certificate with its key, in two files of a folder whose name has a space."""

    def __init__(self, folder: Path, issued: Path) -> None:
        folder = folder / "a folder"
        folder.mkdir()
        key, begin, chain = issued.read_text().partition("-----BEGIN CERTIFICATE")
        self.certificate = folder / "certificate.pem"
        self.certificate.write_text(begin + chain)
        self.key = folder / "key.pem"
        self.key.write_text(key)

    def config(self, **settings: str) -> Config:
        return Config(tls_certificate=self.certificate, tls_key=self.key, **settings)


def encrypt(form: PrivateFormat) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        key = load_pem_private_key(files.key.read_bytes(), None)
        protected = BestAvailableEncryption(PASSWORD)
        files.key.write_bytes(key.private_bytes(Encoding.PEM, form, protected))

    return change


@pytest.mark.parametrize(
    ("change", "file", "reason"),
    [
        (lambda files: files.certificate.unlink(), "certificate", "No such file"),
        (lambda files: files.key.unlink(), "key", "No such file"),
        (lambda files: files.key.write_text(""), "key", "no private key in PEM"),
        (
            lambda files: files.certificate.write_bytes(
                ssl.PEM_cert_to_DER_cert(files.certificate.read_text())
            ),
            "certificate",
            "no certificate in PEM",
        ),
        (
            lambda files: files.certificate.write_text(DAMAGED.format("CERTIFICATE")),
            "certificate",
            "damaged",
        ),
        (
            lambda files: files.certificate.write_bytes(
                files.certificate.read_bytes().replace(b"MII", b"\xffII", 1)
            ),
            "certificate",
            "damaged",
        ),
        (
            lambda files: files.certificate.write_text(
                f"{files.certificate.read_text()}-----BEGIN CERTIFICATE-----\nMII"
            ),
            "certificate",
            "damaged",
        ),
        (
            lambda files: files.key.write_text(DAMAGED.format("PRIVATE KEY")),
            "key",
            "damaged",
        ),
        (encrypt(PrivateFormat.PKCS8), "key", "protected by a password"),
        (encrypt(PrivateFormat.TraditionalOpenSSL), "key", "protected by a password"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    authority, tmp_path, change, file, reason
):
    files = Files(tmp_path, authority.issue())
    change(files)

    with pytest.raises(UnusableCertificate, match=reason) as caught:
        certificates.check(files.config())

    assert str(getattr(files, file)) in str(caught.value)
    assert "SSL" not in str(caught.value)


def test_a_key_of_another_certificate_is_refused(authority, tmp_path):
    files = Files(tmp_path, authority.issue())
    files.key.write_bytes(authority.issue().read_bytes())

    with pytest.raises(UnusableCertificate, match="does not belong to the first"):
        certificates.check(files.config())


def test_a_short_key_is_refused(authority, tmp_path):
    issued = authority.issue(new_key=lambda: rsa.generate_private_key(65537, 1024))

    with pytest.raises(UnusableCertificate, match="too weak: its key is too short"):
        certificates.check(Files(tmp_path, issued).config())


def diagnose(files: Files, **settings: str) -> CheckResult:
    [result] = certificate(files.config(**settings))
    return result


@pytest.mark.parametrize(
    ("since", "until", "status", "found"),
    [
        (-9 * DAY, -DAY, "fail", "expired on"),
        (DAY, 9 * DAY, "fail", "is not valid before"),
        (-DAY, 13 * DAY + timedelta(hours=1), "warn", "expires in 13 days"),
        (-DAY, 15 * DAY, "ok", "valid until"),
    ],
)
def test_the_doctor_reads_the_dates(authority, tmp_path, since, until, status, found):
    files = Files(tmp_path, authority.issue(since=since, until=until))

    result = diagnose(files)

    assert result.status == status
    assert found in result.found


def test_the_doctor_reads_the_dates_of_the_whole_chain(authority, tmp_path):
    expired = Authority(
        tmp_path / "expired", "Tests Intermediate", parent=authority, until=-DAY / 2
    )

    result = diagnose(Files(tmp_path, expired.issue()))

    assert (result.status, result.found[:29]) == (
        "fail",
        "Tests Intermediate expired on",
    )


@pytest.mark.parametrize(
    ("name", "host", "status"),
    [
        ("api.example.com", "api.example.com", "ok"),
        ("api.example.com", "API.example.com", "ok"),
        ("*.example.com", "api.example.com", "ok"),
        ("*.example.com", "a.b.example.com", "warn"),
        ("example.com", "api.example.com", "warn"),
        ("192.0.2.1", "192.0.2.1", "ok"),
        ("192.0.2.1", "192.0.2.2", "warn"),
        ("2001:db8::1", "[2001:db8::1]", "ok"),
    ],
)
def test_the_doctor_warns_of_a_certificate_for_another_host(
    authority, tmp_path, name, host, status
):
    files = Files(tmp_path, authority.issue(name))

    result = diagnose(files, public_base_url=f"https://{host}/v1")

    assert result.status == status


def test_the_doctor_warns_of_a_chain_in_the_wrong_order(authority, tmp_path):
    upper = Authority(tmp_path / "upper", "Tests Upper", parent=authority)
    lower = Authority(tmp_path / "lower", "Tests Lower", parent=upper)
    files = Files(tmp_path, lower.issue(chain=list(reversed(lower.chain))))

    result = diagnose(files)

    assert result.status == "warn" and "wrong order" in result.found
