"""Sets up scenarios of TLS: certificates, authorities, stores and server settings."""

import socket
import ssl
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from readback.probe.connection import stores
from tests.probe import broken_servers
from tests.probe.forward_proxy import LOGIN, forward_proxy
from tests.probe.relay import Response, relay
from tests.probe.setups import Arrange, ProbeInput, Resources, behind_tls
from tests.support.authority import Authority

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
NOT_FOR_LOCALHOST = {
    x509.NameConstraints: (
        x509.NameConstraints(None, [x509.DNSName("localhost")]),
        True,
    )
}


small_key = partial(rsa.generate_private_key, 65537, 1024)
rsa_key = partial(rsa.generate_private_key, 65537, 2048)


@contextmanager
def serving(
    resources: Resources, tls: ssl.SSLContext, store: Path, host: str = "localhost"
) -> Iterator[ProbeInput]:
    """The service uses TLS with this context, and this store is set."""
    with relay(resources.readback.base_url, tls=tls) as server:
        url = f"https://{host}:{server.server_port}/v1"
        trust = {"SSL_CERT_FILE": str(store)}
        key = resources.readback.api_key
        yield ProbeInput(url, key, 5.0, environment=trust)


def behind_intermediate(
    trusted: str = "root",
    changes: Mapping = {},
    since: timedelta = timedelta(days=-9),
    until: timedelta = timedelta(days=9),
    issued: Mapping = {},
    **certificate: Any,
) -> Arrange:
    """An intermediate authority has issued the certificate; trust it or its root."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        intermediate = Authority(
            resources.folder / "intermediate",
            "Tests Intermediate",
            parent=resources.authority,
            since=since,
            until=until,
            changes=changes,
        )
        tls = intermediate.serves(changes=issued, **certificate)
        issuer = resources.authority if trusted == "root" else intermediate
        with serving(resources, tls, issuer.root) as probe_input:
            yield probe_input

    return arrange


def with_settings(
    change: Callable[[ssl.SSLContext], None], **certificate: Any
) -> Arrange:
    """The server changes its settings of TLS."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        tls = resources.authority.serves(**certificate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            change(tls)
        with serving(resources, tls, resources.authority.root) as probe_input:
            yield probe_input

    return arrange


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
def clock_off(resources: Resources) -> Iterator[ProbeInput]:
    """The certificate is valid for the server, whose clock is two days ahead."""
    there = format_datetime(datetime.now(UTC) + timedelta(days=2), usegmt=True)

    def in_future(response: Response) -> Response:
        others = {k: v for k, v in response.headers.items() if k.lower() != "date"}
        return replace(response, headers={**others, "Date": there})

    authority = resources.authority
    tls = authority.serves(since=timedelta(days=1))
    with relay(resources.readback.base_url, tls=tls, on_response=in_future) as server:
        url = f"https://localhost:{server.server_port}/v1"
        trust = {"SSL_CERT_FILE": str(authority.root)}
        yield ProbeInput(url, resources.readback.api_key, 5.0, environment=trust)


@contextmanager
def without_date(resources: Resources) -> Iterator[ProbeInput]:
    """The certificate is not yet valid, and nothing says what time it is elsewhere."""
    authority = resources.authority

    def dateless(response: Response) -> Response:
        kept = {k: v for k, v in response.headers.items() if k.lower() != "date"}
        return replace(response, headers=kept)

    tls = authority.serves(since=timedelta(days=1))
    with relay(resources.readback.base_url, on_response=dateless, tls=tls) as server:
        url = f"https://localhost:{server.server_port}/v1"
        trust = {"SSL_CERT_FILE": str(authority.root)}
        yield ProbeInput(url, resources.readback.api_key, 5.0, environment=trust)


@contextmanager
def without_stores(resources: Resources) -> Iterator[ProbeInput]:
    """Neither the machine nor a package has a list of authorities."""
    nowhere = SimpleNamespace(capath=None)
    with (
        behind_tls(trusted=False)(resources) as probe_input,
        patch.object(stores.certifi, "contents", side_effect=FileNotFoundError),
        patch.object(ssl.SSLContext, "load_default_certs"),
        patch.object(ssl, "get_default_verify_paths", return_value=nowhere),
    ):
        yield probe_input


def through_proxy(host: str, certified: str) -> Arrange:
    """The service is behind a forward proxy, which alone knows its host name."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        authority = resources.authority
        tls = authority.serves(certified)
        with (
            forward_proxy() as proxy,
            serving(resources, tls, authority.root, host) as probe_input,
        ):
            address = f"http://{LOGIN}@127.0.0.1:{proxy.server_port}"
            variables = {"https_proxy": address, "no_proxy": ""}
            environment = {**probe_input.environment, **variables}
            yield replace(probe_input, environment=environment)

    return arrange


def with_variable(variable: str, make: Callable[[Path], Path]) -> Arrange:
    """A variable names a file or directory that `make` has prepared."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        path = make(resources.folder)
        with relay(
            resources.readback.base_url, tls=resources.authority.serves()
        ) as server:
            url = f"https://localhost:{server.server_port}/v1"
            yield ProbeInput(
                url, resources.readback.api_key, environment={variable: str(path)}
            )

    return arrange


def missing(folder: Path) -> Path:
    return folder / "missing" / "store.pem"


@contextmanager
def filtered_name(resources: Resources) -> Iterator[ProbeInput]:
    """Something cuts every handshake that names the host."""
    tls = resources.authority.serves()

    def behave(client: socket.socket) -> None:
        if b"localhost" in client.recv(65536, socket.MSG_PEEK):
            client.close()
        else:
            tls.wrap_socket(client, server_side=True).close()

    with broken_servers.socket_server(behave) as port:
        url = f"https://localhost:{port}/v1"
        yield ProbeInput(url, resources.readback.api_key, timeout=5.0)


def on_python(condition: bool, reason: str, arrange: Arrange) -> Arrange:
    """A scenario that depends on the Python version that runs the probe."""

    @contextmanager
    def checked(resources: Resources) -> Iterator[ProbeInput]:
        if not condition:
            pytest.skip(reason)
        with arrange(resources) as probe_input:
            yield probe_input

    return checked


IS_STRICT = sys.version_info >= (3, 13)


def since_3_13(arrange: Arrange) -> Arrange:
    return on_python(IS_STRICT, "needs Python 3.13 or newer", arrange)


def before_3_13(arrange: Arrange) -> Arrange:
    return on_python(not IS_STRICT, "needs Python 3.12 or older", arrange)
