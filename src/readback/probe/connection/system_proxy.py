"""Finds a proxy in the desktop's settings that Python programs do not use.

Python reads the proxies that are entered by hand in the settings of macOS and Windows,
but no PAC file, and nothing of the settings of GNOME and KDE.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from readback.probe.common.formatting import sanitize

# These programs take some milliseconds, and far longer on a machine that is busy.
_MAX_SECONDS = 5.0
_DISCOVERY = "automatic discovery (WPAD)"


def find() -> str:
    """Return what is set, safe to show, or "" if nothing is found."""
    for look in _PLACES.get(sys.platform, (_gnome, _kde)):
        try:
            if found := look():
                return found
        except (OSError, ValueError, subprocess.SubprocessError, configparser.Error):
            continue
    return ""


def _macos() -> str:
    settings = dict(re.findall(r"(\w+) : (.*)", _output("scutil", "--proxy")))
    if settings.get("ProxyAutoConfigEnable") == "1":
        return _pac_file(settings.get("ProxyAutoConfigURLString", ""))
    is_discovered = settings.get("ProxyAutoDiscoveryEnable") == "1"
    return _DISCOVERY if is_discovered else ""


def _windows() -> str:
    import winreg  # Only there.

    path = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings"
    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:  # type: ignore[attr-defined]
        return _pac_file(str(winreg.QueryValueEx(key, "AutoConfigURL")[0]))  # type: ignore[attr-defined]


def _gnome() -> str:
    schema = "org.gnome.system.proxy"
    text = _output("gsettings", "list-recursively", schema)
    settings = {
        f"{name}/{key}": value.strip().strip("'")
        for name, key, value in re.findall(r"^(\S+) (\S+) (.*)$", text, re.MULTILINE)
    }
    mode = settings.get(f"{schema}/mode")
    if mode == "auto":
        return _pac_file(settings.get(f"{schema}/autoconfig-url", ""))
    if mode != "manual":
        return ""
    for kind in ("https", "http", "socks"):
        if host := settings.get(f"{schema}.{kind}/host"):
            return _proxy(f"{host}:{settings.get(f'{schema}.{kind}/port')}")
    return ""


def _kde() -> str:
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    file = Path(folder).expanduser() / "kioslaverc"
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(file.read_text(encoding="utf-8", errors="replace"))
    if "Proxy Settings" not in parser:
        return ""
    settings = parser["Proxy Settings"]
    kind = settings.get("ProxyType", "0")
    if kind == "2":
        return _pac_file(settings.get("Proxy Config Script", ""))
    if kind == "3":
        return _DISCOVERY
    proxy = settings.get("httpsProxy") or settings.get("httpProxy") or ""
    return _proxy(proxy) if kind == "1" and proxy else ""


_PLACES: dict[str, tuple[Callable[[], str], ...]] = {
    "darwin": (_macos,),
    "win32": (_windows,),
}


def _output(program: str, *arguments: str) -> str:
    if not (path := shutil.which(program)):
        return ""
    done = subprocess.run(
        [path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_MAX_SECONDS,
    )
    return done.stdout.decode("utf-8", "replace")


def _pac_file(url: str) -> str:
    if not url:
        return _DISCOVERY
    # Without user name, password and parameters, which may be secret.
    parts = urlsplit(url)
    return sanitize(f"the PAC file {parts.scheme}://{parts.hostname or ''}{parts.path}")


def _proxy(address: str) -> str:
    return sanitize(f"the proxy {address.rpartition('@')[2].rpartition('://')[2]}")
