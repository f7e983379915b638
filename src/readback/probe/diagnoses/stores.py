"""Diagnoses of the certificate stores of this machine."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import fail, warn

STORES = (
    warn(
        "tls.only_system",
        Culprit.MACHINE,
        "This machine trusts the certificate, but the list that Python programs carry "
        "does not contain its authority, {issuer}. Therefore requests 2.34 and httpx "
        "0.28 refuse it, while openai 3.49 uses this machine's store and accepts it.",
        "Set SSL_CERT_FILE (httpx) and REQUESTS_CA_BUNDLE (requests) to this machine's "
        "certificate file.",
    ),
    warn(
        "tls.only_certifi",
        Culprit.MACHINE,
        "This machine's certificate store does not trust {issuer}, although the list "
        "that Python programs carry does. Programs that use the store refuse the "
        "certificate: curl, openai 3.49, and everything on Python's own urllib.",
        "Update the certificates of this machine, such as the package ca-certificates.",
    ),
    warn(
        "tls.store_refuses",
        Culprit.MACHINE,
        "The store that SSL_CERT_FILE or SSL_CERT_DIR names does not trust {issuer}, "
        "although the list that Python programs carry does. Programs that use only "
        "that store refuse the certificate: httpx 0.28 and openai 3.49.",
        "Add the public certificates to the file, or remove the variable.",
    ),
    warn(
        "tls.no_machine_store",
        Culprit.MACHINE,
        "This machine has no certificate store that Python can find. Programs without "
        "a list of their own trust no server.",
        "On Linux, install the package ca-certificates. With Python from python.org "
        "on macOS, run “Install Certificates.command” in the folder of Python.",
    ),
    warn(
        "tls.partial_older",
        Culprit.MACHINE,
        "The certificate store contains an intermediate certificate, but not the root "
        "above it. Programs on Python 3.12 and older, and Node 20, refuse that.",
        "Add the root certificate that issued it to the file.",
    ),
    fail(
        "tls.partial",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "The certificate store contains an intermediate certificate, but not the root "
        "above it. Python before 3.13, such as the one that runs here, and Node 20 "
        "refuse that; curl 7.88 accepts it.",
        "Add the root certificate that issued it to the file.",
    ),
    fail(
        "tls.store_missing",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "{variable} is set to {path}, which does not exist. Programs that use it trust "
        "no server, or stop with an error.",
        "Correct the path, or remove the variable.",
    ),
    fail(
        "tls.store_unreadable",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "{variable} is set to {path}, which cannot be read: {reason}. Programs that "
        "use it trust no server, or stop with an error.",
        "Let this user read the file, or remove the variable.",
    ),
    fail(
        "tls.store_empty",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "{variable} is set to {path}, which contains no certificate in PEM form. "
        "Programs that use it trust no server, or stop with an error.",
        "The file must contain lines with BEGIN CERTIFICATE. Convert a DER file with "
        "openssl x509 -inform der.",
    ),
    fail(
        "tls.store_broken",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "{variable} is set to {path}, which contains a damaged certificate: {reason}. "
        "Programs that use it trust no server, or stop with an error.",
        "One certificate is cut off or edited. Make the file again.",
    ),
    fail(
        "tls.store_no_hashes",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "{variable} is set to {path}, in which OpenSSL finds no certificate: their "
        "names are not hashes. Programs that use it trust no server.",
        "Run openssl rehash for the directory.",
    ),
    fail(
        "tls.key_log",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "SSLKEYLOGFILE is set to {path}, which cannot be written: {reason}. Python "
        "programs stop with an error before they connect.",
        "Remove the variable, or let this user write the file.",
    ),
)
