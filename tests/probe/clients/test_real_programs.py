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
from pathlib import Path

import pytest

from tests.probe.clients import lab
from tests.probe.clients.machines import machine
from tests.probe.clients.observed import OBSERVED
from tests.probe.clients.test_proxy_choices import predicted
from tests.support.authority import Authority

CURL = ["curl", "--globoff", "--silent", "--max-time", "4"]
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
Rows = tuple[tuple[str, dict[str, str]], ...]
Observed = Sequence[tuple[str, dict[str, str], str]]


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A store with one certificate, which is read faster than a whole list."""
    authority = Authority(tmp_path_factory.mktemp("store"))
    return {"SSL_CERT_FILE": str(authority.root)}


def recorded(rows: Rows, *commands: list[str]) -> list[tuple[str, str]]:
    """Return where each request went, and its Authorization header."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("needs root, unshare and ip for a network of its own")
    cases = [
        {"command": command, "url": f"{url}/v1/models", "variables": variables}
        for command in commands
        for url, variables in rows
    ]
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, lab.__file__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=100,
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("a network of its own is not permitted here")
    assert done.returncode == 0, done.stderr
    return [(reached, sent) for reached, sent in json.loads(done.stdout)]


def differences(name: str, command: list[str], rows: Rows) -> list[object]:
    """Return the rows in which the program does something else than predicted."""
    found = recorded(rows, command)
    return [
        (url, variables, f"predicted {expected}, did {letter}")
        for (url, variables), (letter, _) in zip(rows, found, strict=True)
        if (expected := predicted(name, url, machine(variables))) != letter
    ]


def without_letters(rows: Observed, **more: str) -> Rows:
    return tuple((url, {**variables, **more}) for url, variables, _ in rows)


@pytest.mark.parametrize(
    ("name", "package"),
    [("requests", "requests"), ("httpx", "httpx"), ("openai 3", "openai")],
)
def test_python_packages(name: str, package: str, small_store: dict[str, str]) -> None:
    pytest.importorskip(package)
    # The client of openai takes longest to make; it chooses as httpx2 does.
    tried = OBSERVED[::4] if package == "openai" else OBSERVED
    rows = without_letters(tried, **small_store)
    assert not differences(name, ["import", package], rows)


def test_curl() -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    assert not differences("curl", CURL, without_letters(OBSERVED))


def test_node() -> None:
    if not shutil.which("node"):
        pytest.skip("Node is not installed")
    version = subprocess.check_output(["node", "--version"], text=True)
    major = int(re.findall(r"\d+", version)[0])
    name = "Node 24" if major >= 24 else "Node 22"
    rows = without_letters(FEW, NODE_USE_ENV_PROXY="1") + without_letters(FEW[:1])
    assert not differences(name, NODE, rows)


def test_go(tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("Go is not installed")
    version = subprocess.check_output(["go", "version"], text=True)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (1, 27):
        pytest.skip("the rules are those of Go 1.27")
    (tmp_path / "ask.go").write_text(
        'package main\nimport ("net/http"; "os")\n'
        "func main() { http.Get(os.Args[1]) }\n"
    )
    program = str(tmp_path / "ask")
    subprocess.run(
        ["go", "build", "-o", program, str(tmp_path / "ask.go")],
        env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"},
        check=True,
    )
    rows = [row for row in OBSERVED if row[2][4] != "-"]
    assert not differences("Go", [program], without_letters(rows))


def test_java(tmp_path: Path) -> None:
    if not shutil.which("javac"):
        pytest.skip("a Java compiler is not installed")
    (tmp_path / "Ask.java").write_text(
        "import java.net.URI; import java.net.http.*;\n"
        "public class Ask { public static void main(String[] a) throws Exception {\n"
        "var request = HttpRequest.newBuilder(URI.create(a[0])).build();\n"
        "HttpClient.newHttpClient().send(request, "
        "HttpResponse.BodyHandlers.discarding()); } }\n"
    )
    subprocess.run(["javac", str(tmp_path / "Ask.java")], check=True)
    rows = tuple((url, {"JAVA_TOOL_OPTIONS": options}) for url, options in JAVA)
    ignored = {"http_proxy": "http://127.0.0.1:3101"}
    rows += (("http://api.example.test", ignored),)
    assert not differences("Java", ["java", "-cp", str(tmp_path), "Ask"], rows)


def test_only_requests_replaces_the_key_by_a_login_from_netrc(
    tmp_path: Path, small_store: dict[str, str]
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine api.example.test login alice password hush\n")
    variables = {"HOME": str(tmp_path), **small_store}
    rows = (("http://api.example.test", variables),)
    commands = [["import", package] for package in ("requests", "httpx", "openai")]
    if shutil.which("curl"):
        commands.append([*CURL, "--header", "Authorization: Bearer key"])
    (_, sent), *others = recorded(rows, *commands)
    assert sent.startswith("Basic ")
    assert set(others) == {("D", "Bearer key")}
