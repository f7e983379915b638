"""`readback probe` as a process: key input, output formats, exit codes, terminal."""

import json
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from readback.keys import masked
from readback.probe.command import command_line
from readback.probe.common.results import FailureFamily
from readback.probe.entered.key import key_from_file
from tests.probe.gateway import gateway
from tests.probe.setups import Resources
from tests.probe.terminal import TIMEOUT, Terminal
from tests.support.authority import Authority
from tests.support.commands import environment_with, run_command
from tests.support.server import Server

COMMAND = (sys.executable, "-m", "readback", "probe")


def environment(**more: str) -> dict[str, str]:
    return environment_with(more)


def run(*arguments: str, key: str | None = None, more: Mapping[str, str] | None = None):
    """Run the command without a terminal, in a fork that has already imported it."""
    given = dict(more or {}) | ({} if key is None else {"READBACK_API_KEY": key})
    return run_command(environment(**given), *COMMAND[3:], *arguments)


def run_with_pipes(*arguments: str, key: str | None = None, stdin: str = ""):
    """Run the command in a new process, with pipes for its input and output."""
    more = {} if key is None else {"READBACK_API_KEY": key}
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def test_a_pipe_gets_plain_lines_with_the_verdict_first(readback: Server) -> None:
    done = run_with_pipes(readback.base_url, key=readback.api_key)
    assert done.returncode == FailureFamily.NONE, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == "✓ Works: every text was returned unchanged."
    assert len(lines) <= 8
    assert "\x1b" not in done.stdout
    assert masked(readback.api_key[-4:]) in done.stdout
    assert readback.api_key not in done.stdout + done.stderr


def test_json_is_one_line_with_every_step(readback: Server) -> None:
    done = run(readback.base_url, "--json", key=readback.api_key)
    report = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (report["verdict"], report["exit_code"]) == ("ok", done.returncode)
    assert report["key"] == masked(readback.api_key[-4:])
    fields = {"step", "id", "verdict", "figure", "sentence", "hint", "fixer"}
    assert all(fields <= set(step) for step in report["findings"])
    assert report["requests"] <= 25
    assert readback.api_key not in done.stdout


def test_verbose_shows_every_step(readback: Server) -> None:
    url = readback.base_url.replace("127.0.0.1", "0.0.0.0")
    done = run(url, "--verbose", key=readback.api_key)
    assert "! address            This address means" in done.stdout
    assert "✓ largest echo" in done.stdout
    assert readback.api_key not in done.stdout


def test_without_an_argument_it_tests_what_a_program_would_use(
    readback: Server,
) -> None:
    more = {"OPENAI_BASE_URL": readback.base_url, "OPENAI_API_KEY": readback.api_key}
    done = run(more=more)
    assert done.returncode == FailureFamily.NONE, done.stdout
    assert f"{readback.base_url} (from OPENAI_BASE_URL)" in done.stdout
    document = json.loads(run("--json", more=more).stdout)
    assert document["base_url_from"] == "OPENAI_BASE_URL"


def test_the_key_of_readback_comes_before_that_of_openai(readback: Server) -> None:
    more = {"OPENAI_API_KEY": "sk-proj-0123456789abcdef"}
    done = run(readback.base_url, key=readback.api_key, more=more)
    assert done.returncode == FailureFamily.NONE, done.stdout


def test_without_an_argument_or_a_variable_it_asks_for_an_address() -> None:
    done = run()
    assert done.returncode == 2
    assert "Enter the address of the API, or set OPENAI_BASE_URL" in done.stderr


def test_a_readback_key_alone_is_not_sent_to_openai(readback: Server) -> None:
    done = run("--json", more={"OPENAI_API_KEY": readback.api_key})
    report = json.loads(done.stdout)
    assert (report["id"], done.returncode) == ("address.missing", 10)
    assert report["requests"] == 0
    assert "OPENAI_BASE_URL is not set" in report["sentence"]
    assert readback.api_key not in done.stdout


def test_another_key_alone_is_tested_where_the_openai_package_would_use_it() -> None:
    more = {"OPENAI_API_KEY": "sk-proj-0123456789abcdef"}
    # The proxy's port is closed, so no request leaves this machine.
    done = run(more=more | {"https_proxy": "http://127.0.0.1:1", "no_proxy": ""})
    assert done.returncode == FailureFamily.NETWORK, done.stdout
    text = " ".join(done.stdout.split())
    assert "https://api.openai.com/v1 (the default of the openai package" in text


@pytest.mark.parametrize(
    ("option", "content", "words"),
    [
        ("--cacert", None, "it does not exist"),
        ("--cacert", "no certificate", "openssl x509 -inform der"),
        ("--cert", None, "it does not exist"),
        ("--cert", "no certificate", "a certificate and its key"),
    ],
)
def test_a_file_of_certificates_that_is_wrong_is_one_sentence(
    option: str, content: str | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_text(content)
    done = run("https://localhost:1/v1", option, str(file), key="sk-x")
    assert done.returncode == 2
    last = " ".join(done.stderr.split()).partition("error: ")[2]
    assert last.startswith(f"The file of {option} cannot be used: ") and words in last


def test_a_client_certificate_and_its_authority_can_be_given(
    resources: Resources, tmp_path: Path
) -> None:
    authority = resources.authority
    tls = authority.serves()
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(authority.root)
    certificate = authority.issue("client")
    encrypted = tmp_path / "encrypted.pem"
    encrypted.write_text(_with_encrypted_key(certificate.read_text()))
    readback = resources.readback
    trust = ("--cacert", str(authority.root))
    with gateway(readback.base_url, tls=[tls]) as server:
        url = f"https://localhost:{server.port}/v1"
        without = run(url, "--json", *trust, key=readback.api_key)
        own = run(
            url, "--json", *trust, "--cert", str(certificate), key=readback.api_key
        )
        locked = run(url, "--cert", str(encrypted), key=readback.api_key)
        other = Authority(tmp_path, "Another Root").root
        wrong = run(url, "--json", "--cacert", str(other), key=readback.api_key)
    assert json.loads(wrong.stdout)["id"] == "tls.store"
    assert "--cacert" in json.loads(wrong.stdout)["sentence"]
    assert json.loads(without.stdout)["id"] == "tls.client_certificate"
    assert "--cert FILE" in json.loads(without.stdout)["next_step"]
    assert json.loads(own.stdout)["id"] == "ok", own.stdout
    assert locked.returncode == 2
    assert "unencrypted" in locked.stderr


def _with_encrypted_key(pem: str) -> str:
    """Return the certificate and its key, with the key encrypted by a password."""
    key = serialization.load_pem_private_key(pem.encode(), None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hush"),
    )
    return encrypted.decode() + pem[pem.index("-----BEGIN CERT") :]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_cannot_show_a_mark_gets_a_word(
    encoding: str, readback: Server
) -> None:
    more = {"PYTHONIOENCODING": encoding, "LANG": "ru_RU.UTF-8"}
    given = {**environment(**more), "READBACK_API_KEY": readback.api_key}
    command = [*COMMAND, readback.base_url]
    done = subprocess.run(command, env=given, capture_output=True, timeout=TIMEOUT)
    # The report is in English, because these encodings cannot show Russian.
    assert done.stdout.decode(encoding).startswith("ok Works: every text was returned")


@pytest.mark.parametrize(
    ("address", "key", "family"),
    [
        ("alice@example.org", None, FailureFamily.ADDRESS),
        ("http://127.0.0.1:1/v1/models", None, FailureFamily.NETWORK),
        ("http://127.0.0.1:1/v1", "sk-echo-nonsense", FailureFamily.NETWORK),
        ("", "sk-echo-nonsense", FailureFamily.KEY),
    ],
)
def test_the_exit_code_is_the_family_of_the_verdict(
    address: str, key: str | None, family: FailureFamily, readback: Server
) -> None:
    done = run(address or readback.base_url, key=key or readback.api_key)
    assert done.returncode == family, done.stdout


def test_the_key_can_be_read_from_a_file(readback: Server, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{readback.api_key}\n")
    assert (
        run(readback.base_url, "--key-file", str(file)).returncode == FailureFamily.NONE
    )


def test_the_key_can_be_read_from_standard_input(readback: Server) -> None:
    done = run_with_pipes(
        readback.base_url, "--key-file", "-", stdin=f"{readback.api_key}\n"
    )
    assert done.returncode == FailureFamily.NONE


def test_without_a_terminal_or_a_key_the_other_steps_still_run(
    readback: Server,
) -> None:
    done = run(readback.base_url)
    assert done.returncode == FailureFamily.KEY
    assert "HTTP" in done.stdout.partition("Works: ")[2].splitlines()[0]


@pytest.mark.parametrize(
    "key", ["sk-echo-0123456789abcdef", "sk-proj-0123456789abcdef"]
)
@pytest.mark.parametrize("form", ["http://127.0.0.1:1/v1 {}", "x --key={}", "{}"])
def test_a_key_on_the_command_line_is_refused_and_not_shown(
    form: str, key: str
) -> None:
    done = run(*form.format(key).split())
    assert done.returncode == 2
    assert "An argument looks like a key." in done.stderr
    assert key not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1:1/v1", "gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key", "gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key=gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "-gsk_a_key_of_another_service"],
        ["http://127.0.0.1:1/v1", "--key-env", "gsk_a_key_of_another_service"],
    ],
)
def test_a_refused_argument_is_not_repeated(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: readback probe")
    assert "another_service" not in done.stdout + done.stderr


@pytest.mark.parametrize("seconds", ["0", "nan", "inf", "1e9", "ten", ""])
def test_a_time_out_of_range_is_refused(seconds: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_line("probe").parse(["http://127.0.0.1:1/v1", "--timeout", seconds])


def test_help_is_that_of_the_probe() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout == command_line("readback probe").format_help()


def test_the_key_can_be_read_from_another_variable(readback: Server) -> None:
    keys = {"ECHO_KEY": readback.api_key, "READBACK_API_KEY": "sk-echo-wrong"}
    done = run(readback.base_url, "--key-env", "ECHO_KEY", "--json", more=keys)
    assert done.returncode == FailureFamily.NONE, done.stdout


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"sk-echo-1\n", "sk-echo-1"),
        (b"sk-echo-1 \r\n", "sk-echo-1 "),
        (b"\xff\xfes\x00", "\ufffd\ufffds\x00"),
    ],
)
def test_a_file_is_read_as_it_is(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(data)
    assert key_from_file(str(tmp_path / "key")) == text


@pytest.mark.parametrize("name", ["/", "/nowhere/key"])
def test_a_file_that_cannot_be_read_ends_with_a_sentence(name: str) -> None:
    done = run("http://127.0.0.1:1/v1", "--key-file", name)
    assert done.returncode == 2
    assert "The file with the key cannot be read: " in done.stderr


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (">/dev/full", "The report cannot be written: No space left on device.\n"),
        ("| true", ""),
        (">&- <&-", "The report cannot be written: standard output is closed.\n"),
    ],
)
def test_output_that_nobody_can_read_ends_without_a_traceback(
    output: str, sentence: str
) -> None:
    program = " ".join(COMMAND)
    done = subprocess.run(
        ["sh", "-c", f"{program} http://127.0.0.1:1/v1 {output}"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.stderr == sentence


def terminal_with(*arguments: str, **more: str) -> Terminal:
    return Terminal([*COMMAND, *arguments], environment(**more))


def test_the_terminal_prompts_for_the_key_and_does_not_show_it(
    readback: Server,
) -> None:
    terminal = terminal_with(readback.base_url)
    terminal.wait_for("Key (hidden)")
    terminal.type(f"{readback.api_key}\n")
    assert terminal.exit_code() == FailureFamily.NONE
    assert readback.api_key not in terminal.shown
    assert masked(readback.api_key[-4:]) in terminal.shown


@pytest.mark.parametrize(
    ("key", "code"), [("\x03", 130), ("\x04", 1)], ids=["Ctrl-C", "Ctrl-D"]
)
def test_a_person_can_stop_at_the_prompt(key: str, code: int) -> None:
    terminal = terminal_with("http://127.0.0.1:1/v1")
    terminal.wait_for("Key (hidden)")
    terminal.type(key)
    assert terminal.exit_code() == code
    assert terminal.shown.split() == ["Key", "(hidden):", "Stopped."]


def test_a_pasted_key_that_is_not_text_is_reported(readback: Server) -> None:
    terminal = terminal_with(readback.base_url)
    terminal.wait_for("Key (hidden)")
    terminal.send(b"sk-echo-\xff\xfe\n")
    assert terminal.exit_code() == FailureFamily.KEY
    assert "Traceback" not in terminal.shown


def test_the_terminal_shows_the_verdict_in_colour(readback: Server) -> None:
    terminal = terminal_with(readback.base_url, READBACK_API_KEY=readback.api_key)
    assert terminal.exit_code() == FailureFamily.NONE
    assert "\x1b[32m✓ Works: every text was returned unchanged." in terminal.shown


def test_the_prompt_is_in_the_language_of_the_terminal() -> None:
    terminal = terminal_with("http://127.0.0.1:1/v1", LC_ALL="ru_RU.UTF-8")
    terminal.wait_for("Ключ (не отображается):")
    terminal.type("\n")
    assert terminal.exit_code() == FailureFamily.NETWORK
