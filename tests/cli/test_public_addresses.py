"""`readback doctor` behind a real proxy: what a stranger sees at the public addresses.

The machine is a network namespace with its own public addresses.
"""

import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from threading import Thread

import pytest

from readback.cli import public_addresses
from readback.cli.checks import Doubt
from readback.config import Config
from tests.cli.program import READBACK, Program, answers_200
from tests.support import migrated as migrated_databases
from tests.support.authority import DAY, Authority
from tests.support.commands import environment_with
from tests.support.namespaces import Namespaces, why_not
from tests.support.pages import block
from tests.support.programs import needed_program
from tests.support.waiting import wait_until

MACHINE = "public"
COUNT = "READBACK_TRUSTED_PROXY_COUNT"
# Addresses for the API and the cabinet, from RFC 5737.
API = "198.51.100.10"
CABINET = "198.51.100.11"

Rows = dict[str, tuple[str, str]]


@pytest.fixture(scope="module")
def network() -> Iterator[Namespaces]:
    if reason := why_not():
        pytest.skip(reason)
    network = Namespaces()
    try:
        network.add_namespace(MACHINE)
        for address in (API, CABINET):
            network.ip(MACHINE, f"address add {address}/32 dev lo")
        yield network
    finally:
        network.remove()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def nginx(folder: Path, authority: Authority) -> list[str]:
    """Return a command that runs nginx with the configuration in docs/deploy.md."""
    site = block("upstream readback-api").replace("api.example.com", API)
    site = site.replace("readback.example.com", CABINET)
    site = site.replace("listen 80;", f"listen {API}:80; listen {CABINET}:80;")
    for address in (API, CABINET):
        certificate = authority.issue(address)
        site = site.replace(
            f"listen 443 ssl; server_name {address};",
            f"listen {address}:443 ssl; server_name {address}; ssl_certificate "
            f"{certificate}; ssl_certificate_key {certificate};",
        )
    temporary = "".join(
        f"{name}_temp_path {folder};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off; pid {folder}/pid; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{site}\n}}\n"
    )
    program = needed_program("nginx")
    return [program, "-e", "stderr", "-p", str(folder), "-c", str(path)]


@contextmanager
def running(network: Namespaces, *command: str, **settings: str) -> Iterator[None]:
    process = subprocess.Popen(
        network.command(MACHINE, *command),
        env=environment_with(settings),
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def site(
    network: Namespaces,
    authority: Authority,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, str]]:
    """Return the settings of a cabinet that runs behind nginx."""
    folder = tmp_path_factory.mktemp("server")
    settings = {
        "READBACK_DATA_DIR": str(folder / "data"),
        "READBACK_WORKERS": "1",
        "READBACK_PUBLIC_BASE_URL": f"https://{API}/v1",
        "READBACK_CABINET_URL": f"https://{CABINET}",
        "READBACK_STOP_NOTICE": "0.1",
        "SSL_CERT_FILE": str(authority.root),
    }
    migrated_databases.provide(settings)
    with ExitStack() as stack:
        for command in (nginx(folder, authority), [*READBACK, "serve", "cabinet"]):
            stack.enter_context(running(network, *command, **settings))
        wait_for_answer(network, "127.0.0.1:8001/healthz")
        yield settings


# The cabinet is shared, because it takes the longest to start.
@pytest.fixture(scope="module", params=["0", "1", "2"])
def settings(
    network: Namespaces, site: dict[str, str], request: pytest.FixtureRequest
) -> Iterator[dict[str, str]]:
    """Return the settings of an API behind nginx with this many trusted proxies."""
    settings = site | {COUNT: request.param}
    with running(network, *READBACK, "serve", "api", **settings):
        # The API listens long before it is ready.
        wait_for_answer(network, "127.0.0.1:8002/readyz")
        yield settings


def wait_for_answer(network: Namespaces, address: str) -> None:
    with network.on(MACHINE):
        wait_until(lambda: answers_200(f"http://{address}"), f"{address} answers")


def rows_of(done: subprocess.CompletedProcess[str]) -> Rows:
    """Return the lines of a report about the public addresses."""
    assert not done.stderr
    return {
        row["check"]: (row["status"], row["found"])
        for row in json.loads(done.stdout)
        if row["check"].startswith("public ") or row["check"] == COUNT
    }


def diagnose(
    network: Namespaces, settings: dict[str, str], *options: str
) -> tuple[int, Rows]:
    done = subprocess.run(
        network.command(MACHINE, *READBACK, "doctor", "--json", *options),
        env=environment_with(settings),
        capture_output=True,
        text=True,
    )
    return done.returncode, rows_of(done)


SEEN = {
    "0": ("fail", "0 is too low"),
    "1": ("ok", "1 is right"),
    "2": ("fail", "2 is too high"),
}


def test_behind_a_proxy_the_right_count_is_told_from_a_wrong_one(
    network: Namespaces, settings: dict[str, str]
):
    code, rows = diagnose(network, settings)

    status, found = rows.pop(COUNT)
    expected, beginning = SEEN[settings[COUNT]]
    assert status == expected and found.startswith(beginning), found
    assert status == "ok" or "Set it to 1." in found
    assert {status for status, _ in rows.values()} == {"ok"}, rows
    assert [*rows] == ["public cabinet", "public API"]
    assert code == (status == "fail")


def test_without_a_network_there_are_warnings_and_offline_none(
    network: Namespaces, tmp_path: Path
):
    settings = {
        "READBACK_DATA_DIR": str(tmp_path),
        "READBACK_PUBLIC_BASE_URL": "https://203.0.113.9/v1",
        "READBACK_CABINET_URL": "https://readback.invalid",
    }
    migrated_databases.provide(settings)

    code, rows = diagnose(network, settings)
    assert code == 0
    assert {status for status, _ in rows.values()} == {"warn"}
    assert "curl -i https://203.0.113.9/v1" in rows["public API"][1]
    assert rows["public cabinet"][1].startswith("No answer (")
    assert len(rows) == 2

    assert diagnose(network, settings, "--offline") == (0, {})


def only_row(program: Program) -> tuple[int, tuple[str, str]]:
    done = program.run("doctor", "--json")
    [row] = rows_of(done).values()
    return done.returncode, row


OF_READBACK = b'{"error":{"code":"invalid_key"}}'


@pytest.mark.parametrize(
    ("status", "location", "body", "unmatched", "found"),
    [
        (502, "", b"x", "on", "Something else answers, with status 502:"),
        (401, "", b"{}", "on", "Something else answers, with status 401:"),
        (308, "https://a.example.com/v1/models?key=x", b"", "on",
         "Something else answers, with status 308 and a redirect to "
         "'https://a.example.com/v1/models':"),
        (401, "", OF_READBACK, "on", "The API that answers belongs to another"),
        (401, "", OF_READBACK, "off", "A Readback API answers."),
    ],
)  # fmt: skip
def test_another_server_at_the_address_is_told_from_this_installation(
    status: int,
    location: str,
    body: bytes,
    unmatched: str,
    found: str,
    migrated: Program,
):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

    migrated.settings["READBACK_UNMATCHED_REQUESTS"] = unmatched
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        migrated.settings["READBACK_PUBLIC_BASE_URL"] = url
        code, (verdict, sentence) = only_row(migrated)
        server.shutdown()
    is_certain = unmatched == "on"
    assert (code, verdict) == ((1, "fail") if is_certain else (0, "warn"))
    assert sentence.startswith(found)


def test_addresses_that_never_answer_are_a_doubt(monkeypatch: pytest.MonkeyPatch):
    assert public_addresses.WAIT_SECONDS == 2.5  # docs/operations.md promises it
    monkeypatch.setattr(public_addresses, "WAIT_SECONDS", 0.5)
    with create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = Config(public_base_url=f"{url}/v1", cabinet_url=url)
        found = dict(public_addresses.checks(config))
        for name in ("public API", "public cabinet"):
            with pytest.raises(Doubt, match=r"No answer \(timed out\)"):
                found[name]()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"since": -9 * DAY, "until": -DAY}, "certificate has expired"),
        ({"host": "other.example.com"}, "IP address mismatch"),
        ({"self_signed": True}, "self-signed certificate"),
        ({"chain": []}, "unable to get local issuer certificate"),
    ],
)
def test_a_certificate_that_programs_refuse_fails_with_the_reason(
    options: dict[str, object],
    problem: str,
    authority: Authority,
    migrated: Program,
    tmp_path: Path,
):
    issuer = Authority(tmp_path / "issuer", "Tests Issuer", parent=authority)
    certificate = issuer.issue(**{"host": "127.0.0.1", **options})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    migrated.settings["SSL_CERT_FILE"] = str(authority.root)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}/v1"
        migrated.settings["READBACK_PUBLIC_BASE_URL"] = url
        code, (status, found) = only_row(migrated)
        server.shutdown()
    assert (code, status) == (1, "fail")
    assert found.startswith(f"Programs refuse the certificate: {problem}"), found
    assert "serve its whole chain" in found
