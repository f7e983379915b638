"""The version at the end of a base URL, which many services need and some do not have.

Only the server can tell whether a missing or another version is a mistake.
"""

from __future__ import annotations

import re
from dataclasses import replace

from readback.contract import VERSION_PREFIX
from readback.probe.entered.base_url import BaseUrl

_VERSION = re.compile(r"/v\d\w*$")


def with_version(base_url: BaseUrl) -> BaseUrl:
    """Return the address with our version in place of another one or of none."""
    return replace(base_url, path=_VERSION.sub("", base_url.path) + VERSION_PREFIX)


def version_mistake(base_url: BaseUrl) -> str | None:
    """Return the id of the diagnosis if only `with_version` leads to a service."""
    if base_url.path.endswith(VERSION_PREFIX):
        return None
    is_other = _VERSION.search(base_url.path)
    return "address.other_version" if is_other else "address.no_version"
