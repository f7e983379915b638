"""Problems in the client's own environment: variables and files."""

import certifi

from readback.keys import mint
from tests.probe.misfortunes.arranging import in_own_network, kind_of
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    over_tls,
    serving,
    with_variables,
)


def _row(name, variables, *says, by="you", **more):
    return Misfortune(name, with_variables(lambda _: variables), says, by, **more)


ENVIRONMENT = kind_of(
    "environment",
    _row(
        "http_proxy names a closed port",
        {"http_proxy": "http://127.0.0.1:1"},
        "proxy",
        "reach",
        id="proxy.unreachable",
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
        "OPENAI_BASE_URL has another address",
        {"OPENAI_BASE_URL": "https://api.openai.com/v1"},
        "OPENAI_BASE_URL",
        id="clients.base_url_variable",
    ),
    Misfortune(
        "OPENAI_API_KEY has another key",
        with_variables(
            lambda resources: {
                "OPENAI_BASE_URL": resources.readback.base_url,
                "OPENAI_API_KEY": mint(),
            }
        ),
        ("OPENAI_API_KEY",),
        "nobody",
        id="clients.key_variable",
    ),
    *(
        Misfortune(
            f"REQUESTS_CA_BUNDLE names {what}",
            over_tls(
                serving(),
                store=lambda resources, path=path: {
                    "SSL_CERT_FILE": str(resources.authority.root),
                    "REQUESTS_CA_BUNDLE": path,
                },
            ),
            ("REQUESTS_CA_BUNDLE", says),
            "you",
            blame="store",
            id="tls.store",
        )
        for what, path, says in (
            ("no file", "/no/such.pem", "not exist"),
            ("a file without the authority", certifi.where(), "lacks"),
        )
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
