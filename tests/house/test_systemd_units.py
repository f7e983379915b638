"""The files in deploy/systemd are valid, fit together, and confine each service."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import readback
from readback import config
from tests.support.pages import block, sh

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
PROGRAM = "/opt/readback/current/bin/readback"
SERVICES = ("readback-api", "readback-cabinet", "readback-migrate")
# systemd's score times ten; 0 allows nothing, 100 everything.
MAX_EXPOSURE = 15

needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="needs the program systemd-analyze"
)


@pytest.fixture
def installed(tmp_path: Path) -> list[str]:
    """Return the paths of copies of all units, with a program that exists."""
    folder = tmp_path / "a folder"
    shutil.copytree(UNITS, folder)
    units = [*folder.glob("*.service"), *folder.glob("*.socket")]
    for unit in units:
        unit.write_text(unit.read_text().replace(PROGRAM, sys.executable))
    return [str(unit) for unit in units]


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True
    )


@needs_systemd
def test_systemd_finds_no_mistake_in_the_units(installed):
    assert len(installed) == 5

    done = analyze("verify", "--man=no", *installed)

    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_do_little_beyond_its_task(service):
    options = ["--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager"]

    done = analyze("security", *options, str(UNITS / f"{service}.service"))

    if "unrecognized option" in done.stderr:
        pytest.skip("needs systemd 250 or newer")
    assert done.returncode == 0, done.stdout or done.stderr


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.M)


def unit(name: str) -> str:
    return (UNITS / name).read_text()


def test_each_service_runs_as_the_user_who_owns_the_data():
    for service in SERVICES:
        text = unit(f"{service}.service")
        assert values(text, "User") == values(text, "StateDirectory") == ["readback"]


def test_the_settings_are_written_for_root_alone(tmp_path):
    script = block("install -D --mode=600").replace("editor ", "true ")
    sh(script.replace("/etc/readback", str(tmp_path)))

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"environment": 0o600, "api.environment": 0o640}


def test_the_database_is_migrated_before_the_services_start():
    for service in ("readback-api", "readback-cabinet"):
        text = unit(f"{service}.service")
        assert values(text, "Wants") == ["readback-migrate.service"]
        assert values(text, "After")[0].endswith(" readback-migrate.service")


@pytest.mark.parametrize(
    ("command", "service"), [("doctor", "readback-api"), ("backup", "readback-cabinet")]
)
def test_a_command_runs_with_the_user_and_the_settings_of_a_service(
    command, service, tmp_path
):
    systemd_run = tmp_path / "systemd-run"
    systemd_run.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    systemd_run.chmod(0o755)
    given = subprocess.check_output(
        [UNITS / "readback", command, "an argument"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        text=True,
    )

    properties = given.replace("--property=", "")
    names = ("User", "StateDirectory", "StateDirectoryMode", "WorkingDirectory")
    for name in (*names, "EnvironmentFile"):
        assert values(properties, name) == values(unit(f"{service}.service"), name)
    # The drop-in with the sandbox applies to units with this prefix.
    assert "\n--unit=readback-" in given
    assert given.endswith(f"\n{PROGRAM}\n{command}\nan argument\n")


def test_settings_sockets_and_caddy_have_the_same_addresses():
    settings = dict(
        re.findall(r"^(READBACK_\w+)=(.*)$", unit("environment.example"), re.M)
    )
    read = config.read(settings)
    api, ops, cabinet = (
        settings[f"READBACK_{n}_BIND"] for n in ("API", "OPS", "CABINET")
    )

    assert values(unit("readback-api.socket"), "ListenStream") == [api, ops]
    assert values(unit("readback-cabinet.socket"), "ListenStream") == [cabinet]
    sites = re.findall(
        r"^(\S+) \{\n\treverse_proxy (\S+) \{", block("cat >/etc/caddy/"), re.M
    )
    assert sites == [
        (urlsplit(read.cabinet_url).hostname, cabinet),
        (urlsplit(read.base_url).hostname, api),
    ]
    assert read.trusted_proxy_count == 1


def test_the_api_gets_no_secret_of_the_cabinet_and_no_half_of_a_provider(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s" * 50)
    names = ("SECRET_KEY", "SMTP_URL", "METRICS_TOKEN", "OIDC_CLIENT_SECRET")
    settings = {f"READBACK_{name}_FILE": str(secret) for name in names} | {
        "READBACK_OIDC_ISSUER": "https://keycloak.example.org/realms/staff",
        "READBACK_OIDC_CLIENT_ID": "readback",
        "READBACK_OIDC_ONLY": "on",
    }

    unset = values(unit("readback-api.service"), "UnsetEnvironment")
    removed = set(" ".join(unset).split())

    assert {f"READBACK_{name}" for name in names} < removed
    kept = {name: settings[name] for name in settings.keys() - removed}
    assert config.read(kept) == config.read({})


def commands_of_the_page() -> str:
    page = (ROOT / "docs" / "deploy.md").read_text()
    section = page.partition("## On a host with systemd")[2].partition("\n## ")[0]
    return "\n".join(
        re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    )


def test_the_commands_of_the_page_use_files_that_exist_and_this_version():
    commands = commands_of_the_page()

    subprocess.run(["sh", "-n"], input=commands, text=True, check=True)
    named = set(re.findall(r"(?:deploy|requirements)/\S+", commands))
    assert len(named) >= 4
    assert all(any(ROOT.glob(name)) for name in named), named
    assert f"python3 -m venv /opt/readback/{readback.__version__}\n" in commands
    assert f"dist/readback_api-{readback.__version__}-py3-none-any.whl\n" in commands


def test_caddy_closes_an_idle_connection_before_readback_does():
    kept = re.findall(r"^\t+keepalive (\d+)s$", block("cat >/etc/caddy/"), re.M)

    assert len(kept) == 2
    assert max(map(int, kept)) < config.read({}).idle_timeout
