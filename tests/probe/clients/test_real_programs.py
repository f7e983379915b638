"""The programs of this machine do what is predicted for them.

They run in a network of their own (see `lab`), with every observed set of variables.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.probe.clients import lab
from tests.probe.clients.machines import machine
from tests.probe.clients.observed import OBSERVED
from tests.probe.clients.test_proxy_choices import predicted
from tests.support.authority import Authority
from tests.support.programs import needed_program

pytestmark = pytest.mark.long

CURL = ["curl", "--globoff", "--silent", "--max-time", "30"]
NODE = ["node", "--eval", "fetch(process.argv[1]).catch(() => process.exit(1))"]
# A process for each case takes long, so only some rows are tried.
FEW = OBSERVED[1:12:3]
JAVA = (
    ("http://api.example.test", "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3101"),
    (
        "http://api.example.test",
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3101 "
        "-Dhttp.nonProxyHosts=x|*.example.test",
    ),
)
# A program that ends at once is not worth compiling well.
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
Rows = tuple[tuple[str, dict[str, str]], ...]
Observed = Sequence[tuple[str, dict[str, str], str]]


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A store with one certificate, which is read faster than a whole list."""
    authority = Authority(tmp_path_factory.mktemp("store"))
    return {"SSL_CERT_FILE": str(authority.root)}


Case = tuple[list[str], str, dict[str, str]]
"""A command, an address, and the variables that are set."""


def recorded(cases: Sequence[Case]) -> list[tuple[str, str]]:
    """Return where each request went, and its Authorization header."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("needs root, unshare and ip for a network of its own")
    given = [
        {"command": command, "url": f"{url}/v1/models", "variables": variables}
        for command, url, variables in cases
    ]
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, lab.__file__],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=600,
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("a network of its own is not permitted here")
    assert done.returncode == 0, done.stderr
    return [(reached, sent) for reached, sent in json.loads(done.stdout)]


def differences(name: str, command: list[str], rows: Rows) -> list[object]:
    """Return the rows in which the program does something else than predicted."""
    found = recorded([(command, *row) for row in rows])
    return unpredicted(name, rows, [letter for letter, _ in found])


def unpredicted(name: str, rows: Rows, letters: Sequence[str]) -> list[object]:
    return [
        (url, variables, f"predicted {expected}, did {letter}")
        for (url, variables), letter in zip(rows, letters, strict=True)
        if (expected := predicted(name, url, machine(variables))) != letter
    ]


def without_letters(rows: Observed, **more: str) -> Rows:
    return tuple((url, {**variables, **more}) for url, variables, _ in rows)


# The client of openai takes longest to make; it chooses as httpx2 does.
PACKAGES = {"requests": OBSERVED, "httpx": OBSERVED, "openai": OBSERVED[::4]}
Packages = dict[str, tuple[Rows, list[tuple[str, str]]]]


@pytest.fixture(scope="module")
def packages(
    small_store: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Packages:
    """What each package did, all in one process, because their imports take long.

    The last request of each is one for which the file `.netrc` has a login.
    """
    home = tmp_path_factory.mktemp("home")
    login = "machine api.example.test login alice password hush\n"
    (home / ".netrc").write_text(login)
    last = ("http://api.example.test", {"HOME": str(home), **small_store})
    rows = {
        package: (*without_letters(tried, **small_store), last)
        for package, tried in PACKAGES.items()
        if find_spec(package)
    }
    commands = {package: ["import", package] for package in rows}
    cases = [(commands[one], *row) for one in rows for row in rows[one]]
    found = iter(recorded(cases))
    return {one: (rows[one], [next(found) for _ in rows[one]]) for one in rows}


@pytest.mark.parametrize(
    ("name", "package"),
    [("requests", "requests"), ("httpx", "httpx"), ("openai 3", "openai")],
)
def test_python_packages(name: str, package: str, packages: Packages) -> None:
    if package not in packages:
        pytest.skip(f"{package} is not installed")
    rows, found = packages[package]
    assert not unpredicted(name, rows[:-1], [letter for letter, _ in found[:-1]])


def test_curl() -> None:
    needed_program("curl")
    assert not differences("curl", CURL, without_letters(OBSERVED))


def test_node() -> None:
    needed_program("node")
    version = subprocess.check_output(["node", "--version"], text=True)
    if int(re.findall(r"\d+", version)[0]) >= 24:
        pytest.skip("the rules are those of Node before 24")
    rows = without_letters(FEW, NODE_USE_ENV_PROXY="1") + without_letters(FEW[:1])
    assert not differences("Node 22", NODE, rows)


def test_java(tmp_path: Path) -> None:
    needed_program("javac")
    (tmp_path / "Ask.java").write_text(
        "import java.net.URI; import java.net.http.*;\n"
        "public class Ask { public static void main(String[] a) throws Exception {\n"
        "var request = HttpRequest.newBuilder(URI.create(a[0])).build();\n"
        "HttpClient.newHttpClient().send(request, "
        "HttpResponse.BodyHandlers.discarding()); } }\n"
    )
    compiler = ["javac", *(f"-J{option}" for option in QUICK_JVM)]
    subprocess.run([*compiler, str(tmp_path / "Ask.java")], check=True)
    rows = tuple((url, {"JAVA_TOOL_OPTIONS": options}) for url, options in JAVA)
    ignored = {"http_proxy": "http://127.0.0.1:3101"}
    rows += (("http://api.example.test", ignored),)
    command = ["java", *QUICK_JVM, "-cp", str(tmp_path), "Ask"]
    assert not differences("Java", command, rows)


def test_only_requests_replaces_the_key_by_a_login_from_netrc(
    packages: Packages,
) -> None:
    sent = {one: found[-1] for one, (_, found) in packages.items()}
    if shutil.which("curl") and (rows := next(iter(packages.values()))[0]):
        with_key = [*CURL, "--header", "Authorization: Bearer key"]
        [sent["curl"]] = recorded([(with_key, *rows[-1])])
    if "requests" in sent:
        assert sent.pop("requests")[1].startswith("Basic ")
    assert sent
    assert set(sent.values()) == {("D", "Bearer key")}
