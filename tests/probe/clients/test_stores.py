"""The predicted certificates are those that the real program was seen to trust."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from readback.probe.clients import settings
from readback.probe.clients.comparison import PROGRAMS
from readback.probe.clients.settings import Machine
from tests.probe.clients.machines import machine
from tests.probe.relay import relay
from tests.probe.setups import Resources
from tests.support.programs import needed_program

FILE, DIR = "SSL_CERT_FILE", "SSL_CERT_DIR"
REQUESTS, CURL = "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"
NODE = "NODE_EXTRA_CA_CERTS"
# The variables that name the private authority, and the programs that then trust it.
READ_BY = (
    ((), ()),
    ((FILE,), ("curl", "httpx", "openai 3")),
    ((DIR,), ("curl", "httpx", "openai 3")),
    ((REQUESTS,), ("requests",)),
    ((CURL,), ("curl", "requests")),
    ((NODE,), ("Node 22",)),
)
COMMANDS = {
    "curl": ["curl", "--silent", "--output", "/dev/null"],
    "Node 22": [
        "node",
        "--eval",
        "fetch(process.argv[1]).catch(() => process.exit(1))",
    ],
}
MISSING = (
    (FILE, ("curl", "httpx", "openai 3")),
    (DIR, ("httpx", "openai 3")),
    (REQUESTS, ("requests",)),
    (CURL, ("curl", "requests")),
    (NODE, ()),
)


@pytest.fixture
def private(resources: Resources) -> dict[str, str]:
    """The value of each variable that names the private authority."""
    file = str(resources.authority.root)
    return {DIR: str(resources.authority.root.parent)} | dict.fromkeys(
        (FILE, REQUESTS, CURL, NODE), file
    )


def trusting(here: Machine) -> tuple[str, ...]:
    return tuple(one.name for one in PROGRAMS if one.store and one.store(here).private)


def failing(here: Machine) -> tuple[str, ...]:
    return tuple(one.name for one in PROGRAMS if one.store and one.store(here).problem)


@pytest.mark.parametrize(("variables", "names"), READ_BY)
def test_a_private_authority_is_read_from_a_variable(
    variables: tuple[str, ...], names: tuple[str, ...], private: dict[str, str]
) -> None:
    here = machine({name: private[name] for name in variables})
    assert trusting(here) == names
    assert failing(here) == ()


@pytest.mark.parametrize(("variable", "names"), MISSING)
def test_a_missing_file_makes_some_programs_fail(
    variable: str, names: tuple[str, ...]
) -> None:
    assert failing(machine({variable: "/does/not/exist"})) == names


def test_the_lists_of_the_system_are_not_private() -> None:
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    if not Path(bundle).is_file():
        pytest.skip(f"{bundle} does not exist here")
    here = machine({FILE: bundle, REQUESTS: bundle, NODE: bundle})
    assert (trusting(here), failing(here)) == ((), ())


def test_curl_prefers_the_folder_and_python_the_file(
    private: dict[str, str], tmp_path: Path
) -> None:
    here = machine({FILE: private[FILE], DIR: str(tmp_path)})
    assert settings.curl_store(here).private == str(tmp_path)
    assert settings.httpx2_store(here).private == private[FILE]


@pytest.mark.parametrize("path", ["", "\0", "x" * 5000, "/dev/zero", "/"])
def test_no_value_makes_a_prediction_fail(path: str) -> None:
    names = (FILE, DIR, REQUESTS, CURL, NODE)
    failing(machine(dict.fromkeys(names, path) | {"NODE_OPTIONS": "'"}))


@pytest.fixture
def url(resources: Resources) -> Iterator[str]:
    """A server whose certificate only the private authority vouches for."""
    tls = resources.authority.serves()
    with relay(resources.readback.base_url, tls=tls) as server:
        yield f"https://localhost:{server.server_port}/v1"


def is_trusted_by(name: str, url: str) -> bool:
    if name in COMMANDS:
        needed_program(COMMANDS[name][0])
        return subprocess.run([*COMMANDS[name], url]).returncode == 0
    module = pytest.importorskip("openai" if name == "openai 3" else name)
    try:
        if name == "openai 3":
            module.OpenAI(api_key="key", base_url=url, max_retries=0).models.list()
        else:
            module.get(url, timeout=60)
    except Exception as error:
        return "Authentication" in type(error).__name__  # a response: 401
    return True


@pytest.mark.parametrize("variable", [FILE, REQUESTS, CURL, NODE])
@pytest.mark.parametrize("name", ["requests", "httpx", "openai 3", "curl", "Node 22"])
def test_the_real_program_trusts_what_is_predicted(
    name: str,
    variable: str,
    url: str,
    private: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, private[variable])
    predicted = name in trusting(machine({variable: private[variable]}))
    assert is_trusted_by(name, url) == predicted


def test_node_reads_the_variables_of_openssl_if_it_is_told_to(
    url: str, private: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {FILE: private[FILE], "NODE_OPTIONS": "--use-openssl-ca"}
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert "Node 22" in trusting(machine(variables))
    assert is_trusted_by("Node 22", url)
