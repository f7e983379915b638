"""Diagnoses of proxies: how they are set, and what they do with the connection."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows

machine, proxy = rows(FailureFamily.NETWORK, Culprit.MACHINE, Culprit.PROXY)

PROXIES = (
    ok("proxies.none", "No proxy is set in the environment."),
    ok(
        "proxies.system",
        "No proxy is set in the environment. The desktop's settings name {setting}, "
        "which Python programs do not use.",
    ),
    ok("proxies.bypassed", "{variable} is set, but NO_PROXY excludes this host."),
    ok("proxies.used", "Requests go through the proxy {proxy}, set in {variable}."),
    ok(
        "proxies.socks",
        "Requests go through the SOCKS proxy {proxy} ({scheme}), set in {variable}.",
    ),
    machine.warn(
        "proxies.case_differs",
        "{lower} and {upper} have different values.",
        "This program uses {lower}; others may use {upper}. Set both to the same "
        "value, or unset one of them.",
    ),
    machine.warn(
        "proxies.no_proxy_ignored",
        "NO_PROXY contains {entry}, which does not exclude {host} in every program.",
        "Write plain host names, without a scheme, a wildcard, a usual port or a "
        "network, and separate them with commas: NO_PROXY={host}.",
    ),
    machine.warn(
        "proxies.password_ambiguous",
        "The user name or password in {variable} contains an @ or % that is not "
        "encoded, and programs read it differently.",
        "Write %40 instead of @, and %25 instead of %.",
    ),
    machine.fail(
        "proxies.password",
        "The user name or password in {variable} contains a character that ends the "
        "address too early.",
        "Encode special characters in it: %23 for #, %2F for /, %3F for ?, %5C for \\, "
        "%40 for @, %25 for %.",
    ),
    machine.fail(
        "proxies.quoted",
        "{variable} contains quotation marks or spaces.",
        "Remove them from the value. Files for Docker and systemd keep quotation marks "
        "that a shell would remove.",
    ),
    machine.fail(
        "proxies.no_host",
        "{variable} does not contain a valid host name.",
        "Set it to the proxy's address, such as http://proxy.example:3128, or unset "
        "it.",
    ),
    machine.fail(
        "proxies.bad_port",
        "{variable} does not contain a valid port.",
        "Set it to the proxy's address, such as http://proxy.example:3128, with a port "
        "from 1 to 65535. If it has a password, encode special characters in it.",
    ),
    machine.fail(
        "proxies.unusable",
        "{variable} is set to {proxy}, which is not an address of an HTTP or SOCKS "
        "proxy.",
        "Start it with http://, https://, socks5h://, socks5://, socks4a:// or "
        "socks4://. Otherwise unset {variable}, or add {host} to NO_PROXY.",
    ),
    machine.fail(
        "proxies.system_needed",
        "{host} cannot be reached directly ({reason}), and Python programs do not use "
        "the proxy in the desktop's settings: {setting}.",
        "Set HTTPS_PROXY to the address of the proxy. In a PAC file, it follows the "
        "word PROXY.",
    ),
    machine.fail(
        "proxy.unknown_host",
        "The proxy's host name {host}, set in {variable}, does not exist.",
        "Correct or unset {variable}. A proxy of a company is often known only inside "
        "its network or VPN.",
    ),
    machine.fail(
        "proxy.unreachable",
        "The proxy {proxy} cannot be reached: {reason}.",
        "Correct or unset {variable}, or add the service's host to NO_PROXY.",
    ),
    machine.fail(
        "proxy.in_container",
        "{variable} is set to {proxy}, but inside a container that is the container "
        "itself, and nothing is listening there.",
        "For a proxy on the host, use host.docker.internal (Docker) or "
        "host.containers.internal (Podman) instead, or --network host.",
    ),
    proxy.fail(
        "proxy.silent",
        "The proxy {proxy} accepted the connection but did not respond.",
        "Check the scheme, host and port in {variable}. If they are right, the proxy "
        "hangs or cannot reach the service: ask its administrator.",
    ),
    proxy.fail(
        "proxy.closed",
        "The proxy {proxy} closed the connection without a response.",
        "Check the scheme and port in {variable}: SOCKS and HTTP proxies do this when "
        "they are taken for each other. If they are right, ask the proxy's "
        "administrator.",
    ),
    machine.fail(
        "proxy.not_http",
        "What responds at {proxy} is not an HTTP proxy.",
        "Correct {variable}. For a SOCKS proxy, start it with socks5h://.",
    ),
    machine.fail(
        "proxy.not_a_proxy",
        "What responds at {proxy} is a web server, not a proxy: {status}.",
        "Correct the host and port in {variable}.",
    ),
    machine.fail(
        "proxy.not_socks",
        "What responds at {proxy} is not a proxy for SOCKS {version}.",
        "Correct {variable}. For an HTTP proxy, start it with http://; most SOCKS "
        "proxies need socks5h://.",
    ),
    machine.fail(
        "proxy.not_tls",
        "The proxy {proxy} does not support TLS, but {variable} starts with https://.",
        "Start {variable} with http://. Addresses that start with https:// can be used "
        "through such a proxy all the same.",
    ),
    proxy.fail(
        "proxy.untrusted",
        "The certificate of the proxy {proxy} cannot be trusted: {reason}.",
        "Set SSL_CERT_FILE to the certificate of its issuer, or tell the proxy's "
        "administrator.",
    ),
    proxy.fail(
        "proxy.login",
        "The proxy requires a user name and a password.",
        "Add them to the proxy's address in {variable}, as in "
        "http://user:password@proxy.example:3128.",
    ),
    machine.fail(
        "proxy.login_refused",
        "The proxy does not accept the user name and password in {variable}.",
        "Correct them. Special characters must be encoded, such as %40 for @.",
    ),
    proxy.fail(
        "proxy.login_scheme",
        "The proxy requires a login that this program does not support: {schemes}.",
        "Ask for an exception or for a login with a password (Basic), or use a local "
        "program that logs in for you, such as cntlm or px.",
    ),
    proxy.fail(
        "proxy.unsupported",
        "The proxy does not support {what}.",
        "With socks5h:// instead of socks5:// or socks4:// in {variable}, the proxy "
        "resolves the host name itself and chooses the address.",
    ),
    machine.fail(
        "proxy.resolve_here",
        "This machine cannot resolve {host}, which a socks5:// or socks4:// proxy "
        "requires.",
        "Start {variable} with socks5h:// or socks4a://, so that the proxy resolves "
        "the name.",
    ),
    proxy.fail(
        "proxy.cannot_resolve",
        "The proxy cannot find the host {host}.",
        "Compare the name letter by letter with the address you were given. If it is "
        "known only inside your network, add it to NO_PROXY. Otherwise the proxy's DNS "
        "fails: tell its administrator.",
    ),
    proxy.fail(
        "proxy.cannot_connect",
        "The proxy could not connect to {host}: {reason}.",
        "Try without the proxy: if that works, the proxy's administrator has to allow "
        "or repair the connection; if not, the service may be down.",
    ),
    proxy.fail(
        "proxy.error_page",
        "The proxy did not connect to {host}; it responded with a page of its own: "
        "{status}, {title}, from {by}.",
        "Ask the administrator of the proxy to allow {host}, and quote this line.",
    ),
    proxy.fail(
        "proxy.refuses",
        "The proxy did not connect to {host}: {reason}.",
        "Ask the administrator of the proxy to allow {host}.",
    ),
)
