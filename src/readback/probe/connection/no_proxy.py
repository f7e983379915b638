"""Finds entries of NO_PROXY that seem to exclude a host, but do not in every program.

Python's standard library and others understand only host names, separated by commas.
"""

from __future__ import annotations

import ipaddress
import re

from readback.probe.entered.base_url import BaseUrl, is_ip_address

_SEPARATORS = re.compile(r"[\s,;|]+")


def ignored_entry(value: str, target: BaseUrl) -> str:
    """Return the first entry that means a host that is not excluded, or ""."""
    entries = filter(None, _SEPARATORS.split(value))
    return next((one for one in entries if _seems_to_mean(one, target)), "")


def _seems_to_mean(entry: str, target: BaseUrl) -> bool:
    text = entry.strip("\"'").lower().rpartition("://")[2]
    if is_ip_address(target.host):
        return _contains(text, target.host)
    name, _, port = text.rstrip("/").partition(":")
    if port and port != str(target.port):
        return False
    name = name.lstrip("*.")
    return bool(name) and f".{target.host}".endswith(f".{name}")


def _contains(text: str, address: str) -> bool:
    try:
        network = ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return False
    return ipaddress.ip_address(address) in network
