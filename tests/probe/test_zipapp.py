"""The probe as one file from the cabinet, on a machine with nothing but Python."""

import json
import re
import subprocess
from hashlib import sha256
from html import unescape
from pathlib import Path

import httpx
import pytest

from readback.keys import masked
from readback.probe.common.results import FailureFamily
from tests.probe.terminal import TIMEOUT, Terminal
from tests.support.commands import run_readback
from tests.support.pythons import CURRENT, python
from tests.support.server import Server

SUPPORTED = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
TOO_OLD = ["2.7", "3.6", "3.7", "3.8"]
NOWHERE = "http://127.0.0.1:1/v1"
WORKS = "Works: every text was returned unchanged."
EMAIL, PASSWORD = "alice@example.org", "a lamp in the harbour"


@pytest.fixture(scope="module")
def file(readback: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`probe.pyz`, fetched from a real cabinet."""
    path = tmp_path_factory.mktemp("fetched") / "probe.pyz"
    path.write_bytes(httpx.get(f"{readback.cabinet_url}/probe.pyz", timeout=60).content)
    return path


RUN_SEVERAL_TIMES = """
import contextlib, io, json, os, runpy, sys
os._exit = sys.exit
file, runs = sys.argv[1], json.loads(sys.argv[2])
printed = []
for arguments in runs:
    sys.argv = ["probe.pyz", *arguments]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        runpy.run_path(file, run_name="__main__")
    printed.append(output.getvalue())
print(json.dumps(printed))
"""


def printed(version: str, file: Path, *runs: list[str]) -> list[str]:
    """Run the file with only the standard library; return the output of each run.

    All runs share one process, which compiles the modules of the file only once.
    """
    done = subprocess.run(
        [python(version), "-I", "-S", "-c", RUN_SEVERAL_TIMES, file, json.dumps(runs)],
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=TIMEOUT,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "version",
    [
        version
        if version in (SUPPORTED[0], *SUPPORTED[-2:])
        else pytest.param(version, marks=pytest.mark.long)
        for version in SUPPORTED
    ],
)
def test_the_file_walks_to_the_end(version: str, file: Path, readback: Server) -> None:
    command = [str(python(version)), "-I", "-S", str(file)]
    command.append(readback.base_url)
    terminal = Terminal(command, {"LC_ALL": "C.UTF-8"})
    terminal.wait_for("Key (hidden)")
    terminal.type(f"{readback.api_key}\n")
    assert terminal.exit_code() == FailureFamily.NONE, terminal.shown
    assert WORKS in terminal.shown
    assert "\x1b[32m" in terminal.shown
    assert readback.api_key not in terminal.shown


@pytest.mark.parametrize("version", TOO_OLD)
def test_an_older_python_gets_one_sentence(version: str, file: Path) -> None:
    done = subprocess.run(
        [python(version), file, NOWHERE], env={}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("The probe needs Python 3.9 or newer, and this is ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("version", SUPPORTED[:1])
def test_every_output_works_in_the_file(version: str, file: Path) -> None:
    forms = ([], ["--json"], ["--verbose"], ["--language", "ru"])
    runs = (["--help"], *([NOWHERE, *form] for form in forms))
    help_text, plain, document, verbose, russian = printed(version, file, *runs)
    assert help_text.startswith("usage: probe.pyz ")
    assert "✗ Fails at “TCP”" in plain
    assert json.loads(document)["verdict"] == "fail"
    assert "✗ TCP" in verbose
    assert "Не работает на шаге «TCP»" in russian
    command = [str(python(version)), "-I", "-S", str(file), NOWHERE]
    terminal = Terminal(command, {"READBACK_API_KEY": ""})
    assert terminal.exit_code() == FailureFamily.NETWORK
    assert "Fails at “TCP”" in terminal.shown
    assert "Traceback" not in terminal.shown


def test_the_file_carries_its_own_certificate_list(file: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(file)!r});"
        "from readback.probe.connection import stores;"
        "print(stores.certifi.__file__, stores.__file__);"
        "trust = next(iter(stores.find()[0].values()));"
        "print(trust.cert_store_stats()['x509_ca'])"
    )
    done = subprocess.run(
        [python(CURRENT), "-I", "-S", "-c", code],
        env={},
        capture_output=True,
        text=True,
    )
    where, count = done.stdout.splitlines()
    assert where.count(str(file)) == 2
    assert int(count) > 100, done.stderr


def test_a_python_without_tls_ends_with_a_sentence(file: Path) -> None:
    code = (
        "import runpy, sys; sys.modules['_ssl'] = None;"
        f"sys.argv = ['probe.pyz', {NOWHERE!r}]; runpy.run_path({str(file)!r}, {{}},"
        "'__main__')"
    )
    done = subprocess.run(
        [python(CURRENT), "-I", "-S", "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr == "This Python lacks the module _ssl.\n"


@pytest.fixture(scope="module")
def new_key_page(readback: Server) -> str:
    """The page that shows a new key, from the real cabinet."""
    create = ("account", "create", EMAIL, "--confirmed", "--password-stdin")
    run_readback(readback.environment, *create, stdin=PASSWORD)
    with httpx.Client(
        base_url=readback.cabinet_url, follow_redirects=True, timeout=60
    ) as visitor:
        send(visitor, "/accounts/login/", {"login": EMAIL, "password": PASSWORD})
        return send(visitor, "/keys/", {"label": "laptop"}).text


def send(visitor: httpx.Client, path: str, fields: dict[str, str]) -> httpx.Response:
    token = re.search(
        r'name="csrfmiddlewaretoken" value="(\w+)"', visitor.get(path).text
    )
    assert token
    form = {"csrfmiddlewaretoken": token[1], **fields}
    return visitor.post(path, data=form)


def shown(page: str, name: str) -> str:
    found = re.search(rf'<code id="{name}"[^<>]*>([^<]+)</code>', page)
    assert found
    return unescape(found[1])


def test_the_two_lines_of_the_page_work_as_they_are(
    new_key_page: str, tmp_path: Path
) -> None:
    key = shown(new_key_page, "key")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(python(CURRENT))
    done = subprocess.run(
        ["sh", "-ec", shown(new_key_page, "probe")],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "READBACK_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.stdout.startswith(f"✓ {WORKS}\n"), done.stdout + done.stderr
    assert masked(key[-4:]) in done.stdout
    content = (tmp_path / "probe.pyz").read_bytes()
    assert sha256(content).hexdigest() == shown(new_key_page, "probe-checksum")
