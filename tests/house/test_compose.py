"""deploy/compose is valid and complete, and matches the files that it uses."""

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from readback import config
from tests.support.build_context import ROOT
from tests.support.programs import needed_program

DEPLOY = ROOT / "deploy"
FOLDER = DEPLOY / "compose"
COMPOSE = yaml.load((FOLDER / "compose.yaml").read_text(), yaml.CSafeLoader)
SERVICES = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "IMAGE" in service["image"]]


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that `init` creates."""
    needed_program("openssl")
    folder = tmp_path_factory.mktemp("with a space")
    shutil.copy(FOLDER / "init", folder)
    first = subprocess.check_output([folder / "init"], text=True)
    assert len(first.splitlines()) == len(COMPOSE["secrets"])
    # A second run replaces nothing.
    assert subprocess.check_output([folder / "init"]) == b""
    return folder / "secrets"


def test_the_compose_schema_accepts_the_file():
    # Imported here to save 0.1 s in every test process.
    import jsonschema
    from check_jsonschema.builtin_schemas import get_builtin_schema

    jsonschema.validate(COMPOSE, get_builtin_schema("vendor.compose-spec"))


def test_every_mounted_file_exists():
    mounts = [
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    ]
    files = {mount for mount in mounts if mount.startswith(".")}
    assert files
    assert set(mounts) - files == set(COMPOSE["volumes"])
    assert [file for file in files if not (FOLDER / file).exists()] == []


def test_every_secret_is_created_by_init_and_only_its_owner_can_enter(secrets):
    named = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    assert {path.name for path in secrets.iterdir()} == named == set(COMPOSE["secrets"])
    assert secrets.stat().st_mode & 0o777 == 0o700
    used = [
        name for service in SERVICES.values() for name in service.get("secrets", [])
    ]
    assert set(used) == named


@pytest.mark.parametrize("name", OURS)
def test_the_settings_of_every_service_are_valid(name, secrets):
    service = SERVICES[name]
    environment = {key: _rendered(text) for key, text in service["environment"].items()}
    mounted = {f"/run/secrets/{name}": secrets / name for name in service["secrets"]}
    for key, value in environment.items():
        if key.endswith("_FILE"):
            environment[key] = str(mounted[value])
    settings = config.read(environment)
    assert settings.database_url.endswith("@database/readback")
    assert settings.trusted_proxy_count == 1
    if "api" in service["command"]:
        # A compromised API host reveals neither accounts nor sessions.
        assert "//readback_api:" in settings.database_url
        assert not settings.secret_key
        assert not settings.smtp_url


def test_the_roles_get_the_passwords_of_the_urls(secrets):
    sql = (FOLDER / "database.sql").read_text()
    commands = re.findall(r"^\\set \w+ `(.*)`$", sql, re.M)
    names = ["database-url", "api-database-url"]
    for name, command in zip(names, commands, strict=True):
        assert command.endswith(f"/run/secrets/{name}")
        command = command.replace("/run/secrets", f"'{secrets}'")
        found = subprocess.check_output(["sh", "-c", command], text=True).strip()
        assert found == urlsplit((secrets / name).read_text().strip()).password
        assert len(found) == 64


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_pinned_and_limited(name):
    service = SERVICES[name]
    assert name in OURS or re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)?$", service["image"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    limits = service["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} <= set(limits)
    is_local = [port.startswith("127.0.0.1:") for port in service.get("ports", [])]
    assert all(is_local) or name == "balancer"
    if "database" in service["networks"]:
        assert COMPOSE["networks"]["database"]["internal"] is True
        assert not service.get("ports")


def _rendered(value: str) -> str:
    """Replace variables with their defaults, as Compose does."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
