"""A proxy of the desktop's settings is found and shown without secrets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from readback.probe.connection import proxies
from readback.probe.entered.base_url import BaseUrl
from tests.support.programs import needed_program

SCHEMA = "org.gnome.system.proxy"


@pytest.fixture(autouse=True)
def _own_settings(
    _quiet_environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def gnome(monkeypatch: pytest.MonkeyPatch):
    """Yield a function that changes a real setting of GNOME, in a file of the test."""
    needed_program("gsettings")
    known = subprocess.check_output(["gsettings", "list-schemas"], text=True)
    if SCHEMA not in known:
        pytest.skip(f"gsettings does not know {SCHEMA}")
    monkeypatch.setenv("GSETTINGS_BACKEND", "keyfile")

    def change(schema: str, key: str, value: str) -> None:
        subprocess.run(["gsettings", "set", schema, key, value], check=True)

    return change


def test_a_pac_file_of_gnome_is_found(gnome) -> None:
    gnome(SCHEMA, "autoconfig-url", "http://alice:hush@wpad.example/a.pac?key=hush")
    gnome(SCHEMA, "mode", "auto")
    assert proxies.unused_system_proxy() == "the PAC file http://wpad.example/a.pac"


def test_discovery_in_gnome_is_found(gnome) -> None:
    gnome(SCHEMA, "mode", "auto")
    assert proxies.unused_system_proxy() == "automatic discovery (WPAD)"


def test_a_proxy_entered_in_gnome_is_found(gnome) -> None:
    gnome(f"{SCHEMA}.https", "host", "proxy.example")
    gnome(f"{SCHEMA}.https", "port", "3128")
    assert proxies.unused_system_proxy() == ""
    gnome(SCHEMA, "mode", "manual")
    assert proxies.unused_system_proxy() == "the proxy proxy.example:3128"


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("ProxyType=0\nhttpsProxy=http://proxy.example 3128", ""),
        ("ProxyType=1\nhttpsProxy=http://a:b@proxy 3128", "the proxy proxy 3128"),
        (
            "ProxyType=2\nProxy Config Script=file:///it.pac",
            "the PAC file file:///it.pac",
        ),
        ("ProxyType=2\nProxy Config Script=http://[", ""),
        ("ProxyType=3", "automatic discovery (WPAD)"),
        ("\ufffd=\n[[[", ""),
    ],
)
def test_the_settings_of_kde_are_read(settings: str, found: str) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "kioslaverc"
    file.write_text(f"[Proxy Settings]\n{settings}\n", encoding="utf-8")
    assert proxies.unused_system_proxy() == found


def test_a_file_that_is_no_settings_file_is_ignored() -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "kioslaverc"
    file.write_bytes(b"\xff\xfe\x00 = [\n")
    assert proxies.unused_system_proxy() == ""


@pytest.mark.parametrize("script", ["exec sleep 60", "exit 1", "printf '\\377'"])
def test_a_program_that_hangs_or_fails_is_ignored(
    script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "gsettings"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if "sleep" in script:
        monkeypatch.setattr(proxies, "_MAX_SETTINGS_SECONDS", 0.5)
    assert proxies.unused_system_proxy() == ""


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("ProxyAutoConfigEnable : 0", ""),
        (
            "ProxyAutoConfigEnable : 1\n"
            "  ProxyAutoConfigURLString : http://wpad.example/it.pac",
            "the PAC file http://wpad.example/it.pac",
        ),
        ("ProxyAutoDiscoveryEnable : 1", "automatic discovery (WPAD)"),
    ],
)
def test_the_output_of_macos_is_read(
    settings: str, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A stand-in: this program exists only on macOS.
    program = tmp_path / "scutil"
    program.write_text(
        f"#!/bin/sh\ncat <<'END'\n<dictionary> {{\n  {settings}\n}}\nEND\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert proxies.unused_system_proxy() == found


def test_a_setting_that_is_not_used_is_only_a_fact() -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "kioslaverc"
    file.write_text("[Proxy Settings]\nProxyType=3\n", encoding="utf-8")
    [diagnosis], route = proxies.check(BaseUrl("https", "echo.example", 443, "/v1"))
    assert diagnosis.id == "proxies.system"
    assert route.unused_proxy in diagnosis.sentence
