"""The list of steps: what a run does, in which order, and what each step needs."""

from __future__ import annotations

from readback.contract import MAX_CONTENT_BYTES
from readback.probe.clients import running, settings
from readback.probe.common.results import Diagnosis, Service
from readback.probe.connection import dns, proxies, tcp, tls
from readback.probe.entered import address, key
from readback.probe.service import (
    between,
    echo,
    endpoint,
    readback,
    recognition,
    steadiness,
)
from readback.probe.transport.context import Condition, ProbeContext, Step


def _address(context: ProbeContext) -> list[Diagnosis]:
    entered, source = context.entered_url, context.url_source
    mistakes, context.base_url = address.check(entered, source)
    return mistakes


def _key(context: ProbeContext) -> list[Diagnosis]:
    mistakes, context.key = key.check(context.secret)
    return mistakes


def _proxies(context: ProbeContext) -> list[Diagnosis]:
    found, context.route = proxies.check(context.base_url)
    return found


def _dns(context: ProbeContext) -> Diagnosis:
    diagnosis, context.ip_addresses = dns.check(context.route, context.timeout)
    return diagnosis


def _tcp(context: ProbeContext) -> list[Diagnosis]:
    found, context.route = tcp.check(
        context.route, context.ip_addresses, context.timeout
    )
    return found


def _echo(context: ProbeContext) -> Diagnosis:
    return echo.check(context, echo.TEXT)


def _largest_echo(context: ProbeContext) -> Diagnosis:
    return echo.check(context, echo.largest_text())


def _is_other_service(context: ProbeContext) -> bool:
    """Return what responds or, if nothing does, what the person probably meant."""
    if context.service:
        return context.service == Service.ENDPOINT
    sent = context.usable_key
    return bool(context.chat_model or (sent and not sent.is_readback_key))


def _asking_as_others(step: Step) -> Step:
    return step._replace(explain=between.asking_as_others(step.run))


def _only_if(condition: Condition, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(step._replace(applies=condition) for step in steps)


COMMON = (
    Step("address", "address", _address),
    Step("key", "key", _key),
    Step("proxies", "proxies", _proxies, ("address",)),
    Step("dns", "DNS", _dns, ("proxies",)),
    Step("tcp", "TCP", _tcp, ("dns",)),
    Step("tls", "TLS", tls.check, ("tcp",)),
    _asking_as_others(Step("http", "HTTP", recognition.check, ("tls",))),
    Step("again", "asked again", steadiness.sample, ("http",)),
)
READBACK = (
    Step("agents", "User-Agent", between.check_agents, ("http",)),
    _asking_as_others(
        Step("access", "key accepted", readback.check_access, ("http", "key"))
    ),
    _asking_as_others(Step("echo", "echo", _echo, ("access",))),
    Step(
        "echo.full",
        f"echo: {MAX_CONTENT_BYTES} bytes",
        _largest_echo,
        ("access",),
        explain=echo.find_limit,
    ),
    Step("cabinet", "cabinet", readback.check_cabinet, ("http",), repeats=0),
    Step("latency", "latency", readback.check_latency, ("echo",)),
    Step("between", "in between", between.check_changes, ("http",)),
)
ENDPOINT = (
    Step("access", "key accepted", endpoint.check_access, ("http", "key")),
    Step("models", "model list", endpoint.check_models, ("access",)),
)
CHAT = (
    Step("chat", "completion", endpoint.check_completion, ("access",), repeats=1),
    Step("stream", "streamed completion", endpoint.check_stream, ("chat",), repeats=1),
)
LAST = (
    Step("clock", "clock", readback.check_clock, ("http",)),
    Step("steady", "steadiness", steadiness.check, ("proxies",), repeats=0),
    Step("clients", "other programs", settings.check, ("address",)),
)
STEPS = (
    *COMMON,
    *_only_if(lambda one: not _is_other_service(one), READBACK),
    *_only_if(_is_other_service, ENDPOINT),
    *_only_if(lambda one: bool(one.chat_model) and _is_other_service(one), CHAT),
    *LAST,
)
RUN_PROGRAMS = Step("run", "programs run", running.check, ("address",))
