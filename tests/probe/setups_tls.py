"""Server certificates and settings that make TLS fail."""

import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from tests.probe.broken_servers import socket_server
from tests.probe.setups import (
    Arrange,
    ProbeInput,
    Resources,
)

UNIDENTIFIED = {x509.AuthorityKeyIdentifier: None}
FOR_CLIENTS = {
    x509.ExtendedKeyUsage: (
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]),
        False,
    )
}
ISSUER_ADDRESS = {
    x509.AuthorityInformationAccess: (
        x509.AuthorityInformationAccess(
            [
                x509.AccessDescription(
                    AuthorityInformationAccessOID.CA_ISSUERS,
                    x509.UniformResourceIdentifier("http://ca.example/issuer.crt"),
                )
            ]
        ),
        False,
    )
}


small_key = partial(rsa.generate_private_key, 65537, 1024)
rsa_key = partial(rsa.generate_private_key, 65537, 2048)


def require_client_certificate(tls: ssl.SSLContext) -> None:
    tls.verify_mode = ssl.CERT_REQUIRED


def require_it_in_tls_1_2(tls: ssl.SSLContext) -> None:
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.maximum_version = ssl.TLSVersion.TLSv1_2


def only_tls_1_1(tls: ssl.SSLContext) -> None:
    tls.set_ciphers("ALL:@SECLEVEL=0")
    tls.minimum_version = ssl.TLSVersion.TLSv1_1
    tls.maximum_version = ssl.TLSVersion.TLSv1_1


def know_no_name(tls: ssl.SSLContext) -> None:
    tls.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME


def fail_for_any_name(tls: ssl.SSLContext) -> None:
    def refuse(_socket, name, _context):
        return ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE if name else None

    tls.sni_callback = refuse


@contextmanager
def filtered_name(resources: Resources) -> Iterator[ProbeInput]:
    """Simulate a filter that cuts off every handshake that names the host."""
    tls = resources.authority.serves()

    def behave(client: socket.socket) -> None:
        if b"localhost" in client.recv(65536, socket.MSG_PEEK):
            client.close()
        else:
            tls.wrap_socket(client, server_side=True).close()

    with socket_server(behave) as port:
        url = f"https://localhost:{port}/v1"
        yield ProbeInput(url, resources.readback.api_key, timeout=5.0)


def since_3_13(arrange: Arrange) -> Arrange:
    """Skip this setup before Python 3.13, which is stricter about certificates."""

    @contextmanager
    def checked(resources: Resources) -> Iterator[ProbeInput]:
        if sys.version_info < (3, 13):
            pytest.skip("needs Python 3.13 or newer")
        with arrange(resources) as probe_input:
            yield probe_input

    return checked
