"""The step "other programs": what they would do here, and where they differ.

The commonest reason for "it works with curl and not in my program" is that programs
read different settings. Nothing is sent. A rule about another program is written down
only if a test runs that program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import metadata
from typing import NamedTuple

from readback.probe.clients import proxies, settings
from readback.probe.clients.proxies import ProxyChoice, is_loopback
from readback.probe.clients.settings import Machine, StoreChoice, openai_settings
from readback.probe.common.formatting import listed, sanitize
from readback.probe.common.results import Diagnosis, Fact
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport.context import ProbeContext


class OtherProgram(NamedTuple):
    name: str
    versions: str
    """The versions tried."""
    proxy: Callable[[BaseUrl, Machine], ProxyChoice]
    store: Callable[[Machine], StoreChoice] | None
    """What it trusts; None if no test has tried it."""
    always_loads_store: bool = False
    """Whether it reads the certificates even if the address does not use TLS."""


CURL = OtherProgram("curl", "7.88.1", proxies.curl_proxy, settings.curl_store)
OPENAI_3 = OtherProgram(
    "openai 3", "3.3.0, 3.49.0", proxies.httpx2_proxy, settings.httpx2_store, True
)
PROGRAMS = (
    CURL,
    OtherProgram("requests", "2.34.2", proxies.requests_proxy, settings.requests_store),
    OtherProgram("httpx", "0.28.1", proxies.httpx_proxy, settings.httpx_store, True),
    OPENAI_3,
    # Newer versions use a proxy if NODE_USE_ENV_PROXY is set.
    OtherProgram(
        "Node 22", "20.20.2, 22.20.0", lambda *_: proxies.DIRECT, settings.node_store
    ),
    OtherProgram("Java", "17.0.20, HttpClient", proxies.java_proxy, None),
)
Groups = dict[str, list[OtherProgram]]
"""The programs by what they do."""


def check(context: ProbeContext) -> list[Diagnosis]:
    machine = Machine.here()
    try:
        openai_version = metadata.version("openai")
    except Exception:  # A damaged installation must not matter here.
        openai_version = ""
    found = [
        *differences(context.base_url, machine, programs(openai_version)),
        *openai_differences(context.base_url, machine, context.secret),
    ]
    if found:
        return found
    way = CURL.proxy(context.base_url, machine).way
    taken = openai_settings(machine.variables).sources
    details = (f"The openai package would take {taken}.",) if taken else ()
    return [replace(diagnose("clients.agree", way=way), details=details)]


def differences(
    target: BaseUrl, machine: Machine, known: Iterable[OtherProgram]
) -> list[Diagnosis]:
    """Return a diagnosis for each kind of difference between the programs."""
    known = list(known)
    found = _proxy_differences(target, machine, known)
    found += _store_differences(target, machine, known)
    if file := settings.netrc_with_login(target.host, machine):
        path = sanitize(str(file))
        found.append(diagnose("clients.netrc", file=path, host=target.host))
    return found


def openai_differences(
    target: BaseUrl, machine: Machine, key: Secret
) -> list[Diagnosis]:
    """Return what the openai package would take from variables instead."""
    found = []
    environment = openai_settings(machine.variables)
    file = settings.openai_env_file(machine)
    if environment.base_url and not environment.names(target):
        url = environment.shown_url(target)
        found.append(diagnose("clients.base_url_variable", url=url, target=str(target)))
    # A program that loads the file keeps the variables that are already set.
    elif file.base_url and not environment.base_url and not file.names(target):
        url = file.shown_url(target)
        found.append(diagnose("clients.env_file", url=url, target=str(target)))
    held, entered = environment.key.reveal(), key.reveal().strip()
    is_other_key = bool(held and entered) and held not in entered
    if environment.names(target) and is_other_key:
        facts = {"held": environment.shown_key, "key": key.mask}
        found.append(diagnose("clients.key_variable", **facts))
    if environment.key.is_readback_key and not (environment.base_url or file.base_url):
        mask = environment.key.mask
        found.append(diagnose("clients.base_url_missing", key=mask, target=str(target)))
    lines = machine.variables.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    if "authorization" in (line.partition(":")[0].strip().lower() for line in lines):
        found.append(diagnose("clients.headers_variable"))
    return found


def _proxy_differences(
    target: BaseUrl, machine: Machine, known: list[OtherProgram]
) -> list[Diagnosis]:
    choices = [(program, program.proxy(target, machine)) for program in known]
    details = _group((program, choice.description) for program, choice in choices)
    found = []
    if broken := _group((program, choice.problem) for program, choice in choices):
        found.append(_diagnose("clients.proxy_unusable", broken, details))
    usable = ((program, choice) for program, choice in choices if not choice.problem)
    ways = _group((program, choice.way) for program, choice in usable)
    if len(ways) > 1:
        variable = f"{target.scheme}_proxy"
        facts = {"lower": variable, "upper": variable.upper(), "scheme": target.scheme}
        local = is_loopback(target.host)
        id = "clients.proxy_for_loopback" if local else "clients.proxy_differs"
        found.append(_diagnose(id, ways, details, **facts))
    return found


def _store_differences(
    target: BaseUrl, machine: Machine, known: list[OtherProgram]
) -> list[Diagnosis]:
    choices = [
        (program, program.store(machine))
        for program in known
        if program.store and (target.is_encrypted or program.always_loads_store)
    ]
    details = _group((one, choice.problem or choice.shown) for one, choice in choices)
    found = []
    if broken := _group((program, choice.problem) for program, choice in choices):
        found.append(_diagnose("clients.store_unusable", broken, details))
    usable = [(program, choice) for program, choice in choices if not choice.problem]
    private = _group((program, choice.private) for program, choice in usable)
    others = [program for program, choice in usable if not choice.private]
    if target.is_encrypted and private and others:
        facts = {"without": listed(program.name for program in others)}
        found.append(_diagnose("clients.store_differs", private, details, **facts))
    return found


def _diagnose(id: str, groups: Groups, details: Groups, **facts: str) -> Diagnosis:
    table: dict[str, Fact] = {
        program.name: action for action, those in details.items() for program in those
    }
    who = "; ".join(
        f"{listed(one.name for one in those)}: {action}"
        for action, those in groups.items()
    )
    diagnosis = diagnose(id, who=who, programs=table, **facts)
    lines = (
        f"{action}: {', '.join(f'{one.name} ({one.versions})' for one in those)}"
        for action, those in details.items()
    )
    return replace(diagnosis, details=tuple(lines))


def _group(actions: Iterable[tuple[OtherProgram, str]]) -> Groups:
    groups: Groups = {}
    for program, action in actions:
        if action:
            groups.setdefault(action, []).append(program)
    return groups


def programs(openai_version: str) -> list[OtherProgram]:
    """Return all programs, without openai 3 if an older openai is installed."""
    major = openai_version.partition(".")[0]
    is_older = major.isdecimal() and int(major) < 3
    return [one for one in PROGRAMS if not (is_older and one is OPENAI_3)]
