"""Diagnoses of what other programs would do here, and of what they did.

The versions that a sentence holds for are in the lines below it; they come from the
table in `clients.programs`.
"""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows, skip

machine, library = rows(FailureFamily.LIBRARY, Culprit.MACHINE, Culprit.LIBRARY)

CLIENTS = (
    ok("clients.agree", "The programs that the probe knows would all connect {way}."),
    machine.warn(
        "clients.proxy_differs",
        "Programs reach this address in different ways. {who}",
        "Set {lower} and {upper} to the same value, with http:// in front, and list "
        "excluded hosts in no_proxy and NO_PROXY by their full names, separated by "
        "commas. Node 24 or newer also needs NODE_USE_ENV_PROXY=1; Java needs "
        "-D{scheme}.proxyHost and -D{scheme}.proxyPort in JAVA_TOOL_OPTIONS.",
    ),
    machine.warn(
        "clients.proxy_for_loopback",
        "Some programs would send requests for this machine itself to a proxy. {who}",
        "Add localhost, 127.0.0.1 and ::1 to no_proxy and NO_PROXY, separated by "
        "commas.",
    ),
    machine.warn(
        "clients.proxy_unusable",
        "Some programs fail with the proxy settings of this machine. {who}",
        "Write the proxy as http://host:port, and exclude hosts in NO_PROXY by their "
        "names or addresses, without IPv6 networks and brackets.",
    ),
    machine.warn(
        "clients.store_differs",
        "Only some programs read the private certificates that a variable names. "
        "{who} Without them: {without}.",
        "If the service's certificate comes from your company's authority, set "
        "SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE and NODE_EXTRA_CA_CERTS to "
        "the same file, and import the authority into Java's cacerts.",
    ),
    machine.warn(
        "clients.store_unusable",
        "Some programs fail because of a certificate setting. {who}",
        "Set the variable to a readable file with certificates in PEM format, or unset "
        "it.",
    ),
    machine.warn(
        "clients.netrc",
        "Python's requests (2.34.2) replaces the key: {file} has a login for {host}, "
        "which it sends as the Authorization header.",
        "Remove that entry, or pass auth=… to requests. The other programs ignore the "
        "file.",
    ),
    machine.warn(
        "clients.base_url_variable",
        "OPENAI_BASE_URL names {url}, not the address that was tested.",
        "The openai package (1.109.1 to 3.49.0) goes there unless your program passes "
        "base_url. Set OPENAI_BASE_URL to {target}, or unset it.",
    ),
    machine.warn(
        "clients.env_file",
        "The file .env in this folder sets OPENAI_BASE_URL to {url}, not to the "
        "address that was tested.",
        "The openai package does not read .env, but a program that loads the file, for "
        "example with python-dotenv, goes there. Set it to {target}.",
    ),
    machine.warn(
        "clients.base_url_missing",
        "OPENAI_API_KEY holds {key}, but OPENAI_BASE_URL is not set.",
        "The openai package (1.109.1 to 3.49.0) sends that key to its default address "
        "unless your program passes base_url. Set OPENAI_BASE_URL to {target}.",
    ),
    machine.warn(
        "clients.key_variable",
        "OPENAI_BASE_URL names this address, but OPENAI_API_KEY holds {held}, not the "
        "key that was tested.",
        "The openai package (1.109.1 to 3.49.0) sends it unless your program passes "
        "api_key. Set OPENAI_API_KEY to the key {key}.",
    ),
    machine.warn(
        "clients.headers_variable",
        "OPENAI_CUSTOM_HEADERS contains an Authorization header, which replaces the "
        "key in the openai package (2.54.0 and 3.49.0).",
        "Remove that line from OPENAI_CUSTOM_HEADERS.",
    ),
    ok("run.same", "All programs on this machine got the same: {outcome}."),
    skip(
        "run.no_response",
        "The programs on this machine get no response either.",
        "Correct what failed above first.",
    ),
    skip(
        "run.none",
        "None of the programs was found: curl, node, go, java, and Python with "
        "requests, httpx or openai.",
    ),
    library.fail(
        "run.differs",
        "Programs on this machine got different results. {outcomes}",
        "Compare the settings of those that fail with those that work; the step "
        "“other programs” says which settings each of them reads.",
    ),
)
