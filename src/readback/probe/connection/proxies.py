"""The step "proxies": which proxy the environment sets for the address.

The environment is read only here, and the HTTP client gets the result, so the report
always matches what the requests do.
"""

from __future__ import annotations

import os
from urllib.request import getproxies, getproxies_environment, proxy_bypass

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis
from readback.probe.connection import no_proxy, proxy_setting, system_proxy
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import PORTS, BaseUrl
from readback.probe.transport.route import Route

_SYSTEM = "the system settings"


def check(base_url: BaseUrl) -> tuple[list[Diagnosis], Route]:
    configured = getproxies()
    name = base_url.scheme if base_url.scheme in configured else "all"
    value = configured.get(name, "")
    warnings = [
        diagnose("proxies.case_differs", lower=f"{one}_proxy", upper=_upper(one))
        for one in dict.fromkeys((base_url.scheme, name, "no"))
        if _differs(one)
    ]
    if not value:
        return _without_proxy(base_url, warnings)
    variable = _variable(name)
    if proxy_bypass(_host_and_port(base_url)):
        bypassed = diagnose("proxies.bypassed", variable=variable)
        return [bypassed, *warnings], Route(base_url)
    proxy = proxy_setting.read(value, variable, base_url.host)
    if proxy_setting.is_ambiguous(value):
        warnings.append(diagnose("proxies.password_ambiguous", variable=variable))
    if entry := no_proxy.ignored_entry(configured.get("no", ""), base_url):
        facts = {"entry": sanitize(entry), "host": base_url.host}
        warnings.append(diagnose("proxies.no_proxy_ignored", **facts))
    id = "proxies.socks" if proxy.is_socks else "proxies.used"
    used = diagnose(id, proxy=str(proxy), variable=variable, scheme=proxy.scheme)
    return [used, *warnings], Route(base_url, proxy)


def _without_proxy(
    base_url: BaseUrl, warnings: list[Diagnosis]
) -> tuple[list[Diagnosis], Route]:
    setting = system_proxy.find()
    id = "proxies.system" if setting else "proxies.none"
    diagnoses = [diagnose(id, setting=setting), *warnings]
    return diagnoses, Route(base_url, unused_proxy=setting)


def _host_and_port(base_url: BaseUrl) -> str:
    """Return what other programs look up in NO_PROXY: a port only if it is unusual."""
    is_usual = base_url.port == PORTS[base_url.scheme]
    if is_usual and ":" not in base_url.host:
        return base_url.host
    return f"{base_url.host}:{base_url.port}"


def _upper(name: str) -> str:
    return f"{name}_proxy".upper()


def _differs(name: str) -> bool:
    lower, upper = os.environ.get(f"{name}_proxy"), os.environ.get(_upper(name))
    return lower is not None and upper is not None and lower != upper


def _variable(name: str) -> str:
    """Return the variable that is in effect; Python prefers the lower-case one."""
    if name not in getproxies_environment():
        return _SYSTEM
    lower = f"{name}_proxy"
    return lower if os.environ.get(lower) else _upper(name)
