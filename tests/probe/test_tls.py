"""TLS: hostile peers, several stores, and variants that no misfortune covers."""

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from readback.probe.common.catalogue import from_error
from readback.probe.common.results import Diagnosis, ProbeError, Verdict
from readback.probe.connection import stores, tls
from readback.probe.connection.stores import StoreKind
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport import handshake
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.context import ProbeContext
from tests.probe import broken_servers, setups_tls, tls_servers
from tests.probe.gateway import answering, gateway
from tests.probe.setups import (
    Context,
    Resources,
    below,
    over_tls,
    serving,
    with_settings,
)
from tests.support.authority import DAY, Authority
from tests.support.commands import free_port
from tests.support.programs import needed_program
from tests.support.waiting import wait_until

PUBLIC_POLICY = {
    x509.CertificatePolicies: (
        x509.CertificatePolicies(
            [x509.PolicyInformation(x509.ObjectIdentifier("2.23.140.1.2.1"), None)]
        ),
        False,
    )
}


def context_for(
    port: int, host: str = "localhost", timeout: float = 30
) -> ProbeContext:
    context = ProbeContext("", Secret(""), timeout=timeout)
    context.base_url = BaseUrl("https", host, port, "/v1")
    context.route = Route(context.base_url, addresses=("127.0.0.1",))
    return context


def found(context: ProbeContext) -> list[Diagnosis]:
    """Return the diagnoses of the step, whether it returns or raises them."""
    try:
        return tls.check(context)
    except ProbeError as error:
        return [from_error(error)]


def ids(context: ProbeContext) -> list[str]:
    return [diagnosis.id for diagnosis in found(context)]


def trusting(*files: Path) -> ssl.SSLContext:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for file in files:
        trust.load_verify_locations(file)
    return trust


Found = Callable[[Context], Diagnosis]


@pytest.fixture
def found_with(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> Found:
    """Return a function that diagnoses a server with this TLS context."""

    def found_with(made: Context) -> Diagnosis:
        with over_tls(made)(resources) as probe_input:
            for name, value in probe_input.environment.items():
                monkeypatch.setenv(name, value)
            port = int(probe_input.base_url.rpartition(":")[2].partition("/")[0])
            [diagnosis] = found(context_for(port))
            return diagnosis

    return found_with


# Certificate stores, of which only some trust the server.


def test_a_variable_whose_file_lacks_the_authority_is_named(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {
        StoreKind.VARIABLE: trusting(),
        StoreKind.CERTIFI: trusting(resources.authority.root),
    }
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own.pem")
    monkeypatch.setattr(stores, "find", lambda *_: (known, None))
    with gateway("", tls=[resources.authority.serves()]) as server:
        first, *_ = tls.check(context_for(server.port))
    assert (first.id, first.verdict) == ("tls.store", Verdict.FAIL)
    assert "SSL_CERT_FILE is set to /etc/own.pem" in first.sentence


@pytest.mark.parametrize(
    ("first", "second", "finding"),
    [
        (False, True, "tls.only_system"),
        (True, False, "tls.only_certifi"),
        (True, True, "tls.ok"),
    ],
)
def test_a_certificate_that_only_one_store_trusts_is_a_warning(
    first: bool,
    second: bool,
    finding: str,
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = [resources.authority.root]
    known = {
        StoreKind.CERTIFI: trusting(*root * first),
        StoreKind.MACHINE: trusting(*root * second),
    }
    monkeypatch.setattr(stores, "find", lambda *_: (known, None))
    with gateway("", tls=[resources.authority.serves()]) as server:
        context = context_for(server.port)
        [diagnosis] = tls.check(context)
    assert diagnosis.id == finding
    assert (diagnosis.verdict == Verdict.WARN) == (finding != "tls.ok")
    assert context.trusted is list(known.values())[0 if first else 1]


@pytest.mark.parametrize(
    ("certificate", "finding"),
    [
        ({"since": -9 * DAY, "until": -DAY}, "tls.expired"),
        ({"host": "other.example"}, "tls.wrong_name"),
    ],
)
def test_a_store_that_knows_the_authority_says_what_is_wrong(
    certificate: dict,
    finding: str,
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {
        StoreKind.CERTIFI: trusting(),
        StoreKind.MACHINE: trusting(resources.authority.root),
    }
    monkeypatch.setattr(stores, "find", lambda *_: (known, None))
    with gateway("", tls=[resources.authority.serves(**certificate)]) as server:
        [diagnosis] = found(context_for(server.port))
    assert diagnosis.id == finding


def test_a_private_authority_of_a_local_host_is_no_warning(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    with gateway("", tls=[resources.authority.serves()]) as server:
        [diagnosis] = tls.check(context_for(server.port))
    assert (diagnosis.id, diagnosis.verdict) == ("tls.ok", Verdict.OK)
    assert "Tests Root" in diagnosis.sentence


def test_a_pipe_instead_of_a_file_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "pipe"))
    _, trouble = stores.find()
    assert trouble is not None
    assert trouble.id == "tls.store"
    assert stores.together().cert_store_stats()["x509"]  # Used for HTTPS proxies.


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\ndamaged\n"])
def test_a_file_without_a_readable_certificate_is_unusable(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "store.pem"
    file.write_text(text)
    assert "no certificate" in stores.why_unusable(str(file))


def test_a_directory_with_hashes_is_used(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed_program("openssl")
    shutil.copy(resources.authority.root, tmp_path)
    subprocess.run(["openssl", "rehash", tmp_path], check=True, capture_output=True)
    several = f"/missing{os.pathsep}{tmp_path}"
    monkeypatch.setenv("SSL_CERT_DIR", several)
    with gateway("", tls=[resources.authority.serves()]) as server:
        assert ids(context_for(server.port)) == ["tls.ok"]


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_broken_store_does_not_matter_without_tls(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/missing/é\udce9")
    context = context_for(1)
    context.base_url = BaseUrl("http", "localhost", 1, "/v1")
    assert ids(context) == ["tls.none"]


@pytest.mark.parametrize(
    ("address", "proxy", "finding"),
    [
        ("203.0.113.7", None, "address.unencrypted"),
        ("203.0.113.7", Proxy("http", "10.1.0.9", 3128, "http_proxy"), "tls.none"),
        ("10.1.0.7", None, "tls.none"),
        ("127.0.0.1", None, "tls.none"),
    ],
)
def test_plain_http_is_a_problem_only_across_the_internet(
    address: str, proxy: Proxy | None, finding: str
) -> None:
    context = ProbeContext("http://echo.example/v1", Secret(""))
    context.base_url = BaseUrl("http", "echo.example", 80, "/v1")
    context.route = Route(context.base_url, proxy, (address,))
    assert ids(context) == [finding]


# Differences between Python versions.


def test_this_python_verifies_as_the_probe_assumes() -> None:
    flags = ssl.create_default_context().verify_flags
    assert bool(flags & ssl.VERIFY_X509_STRICT) == tls.IS_STRICT_HERE


def test_an_expired_certificate_with_another_flaw_is_expired(found_with: Found) -> None:
    unusable = {"changes": setups_tls.UNIDENTIFIED, "until": -DAY}
    assert found_with(serving(since=-9 * DAY, **unusable)).id == "tls.expired"


# Certificates.


def test_a_public_certificate_without_its_issuer_lacks_the_intermediate(
    found_with: Found,
) -> None:
    made = below("Tests Intermediate", chain=[], changes=PUBLIC_POLICY)
    diagnosis = found_with(made)
    assert diagnosis.id == "tls.missing_intermediate"
    assert "Tests Intermediate" in diagnosis.sentence


@pytest.mark.parametrize(
    ("in_file", "sent", "finding"),
    [
        ("root", [], "tls.incomplete"),
        ("other", [], "tls.incomplete"),
        ("other", ["middle"], "tls.incomplete"),
        ("other", ["middle", "root"], "tls.store"),
        ("middle", [], "tls.store"),
        ("middle", ["middle"], "tls.store"),
        ("root", ["middle"], "tls.ok"),
    ],
)
def test_a_file_is_blamed_only_if_it_lacks_what_the_server_need_not_send(
    in_file: str, sent: list[str], finding: str, resources: Resources, tmp_path: Path
) -> None:
    root = resources.authority
    authorities = {
        "root": root,
        "middle": Authority(tmp_path / "middle", "Tests Middle", parent=root),
        "other": Authority(tmp_path / "other", "Another Root"),
    }
    chain = [authorities[name].pem for name in sent]
    server = authorities["middle"].serves(chain=chain)
    with gateway("", tls=[server]) as running:
        context = context_for(running.port)
        context.authorities = str(authorities[in_file].root)
        assert ids(context) == [finding]


def test_the_wrong_time_is_not_blamed_on_a_certificate_that_has_expired(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate would also be invalid at the time in the Date header."""
    date = answering(200, Date="Fri, 31 Dec 9999 23:59:59 -0000")
    expired = resources.authority.serves(since=-9 * DAY, until=-DAY)
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    with gateway("", date, tls=[expired]) as server:
        assert ids(context_for(server.port)) == ["tls.expired"]


# Servers that ask for a client certificate, or reject the host name.


def test_a_general_refusal_of_any_name_is_explained(found_with: Found) -> None:
    made = with_settings(setups_tls.fail_for_any_name)
    assert found_with(made).id == "tls.refused"


def test_a_server_that_only_accepts_client_certificates_is_no_failure(
    found_with: Found,
) -> None:
    def change(server: ssl.SSLContext) -> None:
        server.verify_mode = ssl.CERT_OPTIONAL

    assert found_with(with_settings(change)).id == "tls.ok"


def test_nginx_requires_a_client_certificate_in_its_response(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nginx = needed_program("nginx")
    port = free_port()
    chain = resources.authority.issue()
    (tmp_path / "nginx.conf").write_text(
        f"""daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}
        http {{ access_log off; server {{
            listen 127.0.0.1:{port} ssl;
            ssl_certificate {chain}; ssl_certificate_key {chain};
            ssl_client_certificate {resources.authority.root}; ssl_verify_client on;
        }} }}"""
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    command = [nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            context = context_for(port)
            wait_until(lambda: tls.speaks_tls(context), "nginx listens")
            assert ids(context) == ["tls.ok"]
            with pytest.raises(ProbeError) as caught, context.new_client() as client:
                client.request("/")
        finally:
            process.terminate()
    assert caught.value.id == "tls.client_certificate"


def test_a_late_request_for_a_client_certificate_reaches_the_client(
    resources: Resources,
) -> None:
    """With TLS 1.3, the server's refusal may arrive only after the first request."""
    server = resources.authority.serves()
    server.verify_mode = ssl.CERT_REQUIRED
    server.num_tickets = 0

    def behave(client: socket.socket) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        connection = server.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(client.recv(65536))
        with suppress(ssl.SSLWantReadError):
            connection.do_handshake()
        client.sendall(outgoing.read())
        received = b""
        while len(received) < 300:  # The end of the handshake, and the request.
            received += client.recv(65536)
        incoming.write(received)
        with suppress(ssl.SSLError):
            connection.do_handshake()
        client.sendall(outgoing.read())
        client.close()

    with broken_servers.socket_server(behave) as port:
        context = context_for(port)
        context.trusted = handshake.unverified()
        with pytest.raises(ProbeError) as caught, context.new_client() as client:
            client.request("/" + "x" * 300)
    assert caught.value.id == "tls.client_certificate"


def test_openssl_refuses_http_1_1_in_the_handshake(resources: Resources) -> None:
    needed_program("openssl")
    port = free_port()
    chain = resources.authority.issue()
    command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-alpn", "h2"]
    with subprocess.Popen(
        [*command, "-cert", chain, "-key", chain, "-quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_until(lambda: ids(context_for(port)) != ["http.no_connection"], "on")
            assert ids(context_for(port)) == ["tls.refused"]
        finally:
            process.terminate()


# Hostile peers.


@pytest.mark.parametrize(
    ("behave", "finding"),
    [
        (broken_servers.stay_silent, "tls.cut"),
        (broken_servers.greet, "tls.plain_http"),
        (tls_servers.reset, "tls.cut"),
        (tls_servers.cut_after_hello, "tls.cut"),
        (tls_servers.stall_after_hello, "tls.cut"),
        (tls_servers.trickle, "tls.cut"),
        (tls_servers.send_noise_in_records, "tls.refused"),
        (tls_servers.send_alert(tls_servers.UNRECOGNIZED_NAME), "tls.refused"),
        (tls_servers.send_alert(200), "tls.refused"),
        (tls_servers.speak_http2, "tls.plain_http"),
    ],
)
def test_a_hostile_peer_is_told_within_bounds(
    behave: broken_servers.Behavior, finding: str
) -> None:
    # Short if the peer keeps the probe waiting, because the probe waits several times.
    timeout = 0.3 if finding == "tls.cut" else 10
    started = time.monotonic()
    with broken_servers.socket_server(behave) as port:
        assert ids(context_for(port, timeout=timeout)) == [finding]
    assert time.monotonic() - started < 60


def test_noise_is_not_taken_for_tls() -> None:
    with broken_servers.socket_server(tls_servers.send_noise) as port:
        [finding] = ids(context_for(port, timeout=1))
    # Random bytes may look like any kind of TLS record.
    assert finding in ("tls.plain_http", "tls.refused", "tls.cut")


def test_a_server_for_plain_http_that_waits_at_tls_is_recognised() -> None:
    def behave(client: socket.socket) -> None:
        if client.recv(65536).startswith(b"GET"):
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with broken_servers.socket_server(behave) as port:
        assert ids(context_for(port, timeout=2)) == ["tls.plain_http"]


def test_a_filter_that_drops_the_name_silently_is_found(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = resources.authority.serves()

    def behave(client: socket.socket) -> None:
        if b"localhost" not in client.recv(65536, socket.MSG_PEEK):
            server.wrap_socket(client, server_side=True).close()

    def patient(route, trust, timeout, name):
        """Use the short timeout only for handshakes that get no answer."""
        return handshake.shake(route, trust, timeout if name else 60, name)

    monkeypatch.setattr(tls, "shake", patient)
    with broken_servers.socket_server(behave) as port:
        assert ids(context_for(port, timeout=0.5)) == ["tls.filtered_name"]


@given(st.binary(max_size=300))
def test_any_certificate_message_can_be_read(message: bytes) -> None:
    chain = handshake._read_chain(message)
    assert sum(map(len, chain)) <= len(message)
