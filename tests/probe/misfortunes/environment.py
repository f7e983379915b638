"""The client's own environment: variables, files, clocks."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate

from tests.probe.gateway import editing
from tests.probe.misfortunes.arranging import in_own_network, kind_of, through
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import Arrange, ProbeInput, Resources

MINUTE, HOUR, DAY = 60, 3600, 86400


def _with(variables: Mapping[str, str], **changes) -> Arrange:
    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        readback = resources.readback
        yield ProbeInput(
            readback.base_url, readback.api_key, environment=variables, **changes
        )

    return arrange


def _row(name, variables, *says, by="you", **more):
    return Misfortune(name, _with(variables), says, by, **more)


def _dated(seconds: float):
    def change(reply):
        return reply.with_field("Date", formatdate(time.time() + seconds, usegmt=True))

    return through(editing(change))


def _clock(name, seconds, *says, by="you operator"):
    return Misfortune(name, _dated(seconds), ("clock", *says), by)


ENVIRONMENT = kind_of(
    "environment",
    _row(
        "http_proxy names a closed port",
        {"http_proxy": "http://127.0.0.1:1"},
        "proxy",
        "reach",
    ),
    _row(
        "HTTP_PROXY in capitals alone names a closed port",
        {"HTTP_PROXY": "http://127.0.0.1:1"},
        "proxy",
    ),
    _row(
        "all_proxy names a closed SOCKS port",
        {"all_proxy": "socks5h://127.0.0.1:1"},
        "proxy",
        "reach",
    ),
    _row(
        "https_proxy is set, and the address is http",
        {"https_proxy": "http://127.0.0.1:1"},
        by="you nobody",
    ),
    _row(
        "no_proxy excludes this host",
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1,localhost"},
        by="you nobody",
    ),
    _row(
        "no_proxy excludes another host",
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "localhost"},
        "proxy",
    ),
    _row(
        "no_proxy excludes with a port",
        {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1:9"},
        "proxy|no_proxy",
    ),
    _row(
        "OPENAI_BASE_URL has another address",
        {"OPENAI_BASE_URL": "https://api.openai.com/v1"},
        "OPENAI_BASE_URL",
    ),
    _row(
        "OPENAI_CUSTOM_HEADERS has a key",
        {"OPENAI_CUSTOM_HEADERS": "Authorization: Bearer x"},
        "OPENAI_CUSTOM_HEADERS",
    ),
    _row(
        "REQUESTS_CA_BUNDLE names no file, without TLS",
        {"REQUESTS_CA_BUNDLE": "/no/such.pem"},
        by="you nobody",
    ),
    _row("PYTHONIOENCODING is ASCII", {"PYTHONIOENCODING": "ascii"}, by=""),
    _row("LANG is C", {"LANG": "C", "LC_ALL": "C"}, by=""),
    _row("TERM is unset", {"TERM": ""}, by=""),
    _row("HOME does not exist", {"HOME": "/no/such/home"}, by=""),
    _clock("the service's clock is an hour ahead", HOUR),
    _clock("the service's clock is an hour behind", -HOUR),
    _clock("the service's clock is a day ahead", DAY),
    _clock("the service's clock is a year behind", -365 * DAY),
    _clock("the clocks differ by ten minutes", 10 * MINUTE),
    Misfortune("the clocks differ by two seconds", _dated(2.0), by=""),
    Misfortune(
        "the Date of answers is not a date",
        through(editing(lambda reply: reply.with_field("Date", "yesterday"))),
        by="",
    ),
    Misfortune(
        "the Date of answers is cached",
        through(
            editing(
                lambda reply: reply.with_field("Date", "Tue, 03 Mar 2020 10:00:00 GMT")
            )
        ),
        ("clock|cache",),
        "you operator network",
    ),
    Misfortune(
        "there is no /etc/hosts entry, and the address is an IP address",
        in_own_network(lambda network: network.has_file("/etc/hosts", "")),
        by="",
    ),
    Misfortune(
        "IPv6 is turned off",
        in_own_network(lambda network: network.ip("-6 address flush dev lo")),
        by="",
    ),
)
