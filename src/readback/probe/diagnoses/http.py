"""Diagnoses of what responds to the first request."""

from __future__ import annotations

from readback.probe.common.results import Culprit, FailureFamily
from readback.probe.diagnoses.templates import ok, rows

entered, machine, network, proxy, service = rows(
    FailureFamily.HTTP,
    Culprit.INPUT,
    Culprit.MACHINE,
    Culprit.NETWORK,
    Culprit.PROXY,
    Culprit.SERVICE,
)

HTTP = (
    ok("http.readback", "Readback responded."),
    proxy.warn(
        "http.headers_stripped",
        "The responses of Readback arrive without {missing}.",
        "A gateway removes these headers, or this is another implementation of the "
        "same contract. Without them, refusals are not explained and the operator "
        "cannot look up a request. Let headers that start with X- pass.",
    ),
    ok(
        "http.endpoint",
        "An OpenAI-compatible API responds, without a key with {status}.",
    ),
    ok(
        "http.endpoint_named",
        "An OpenAI-compatible API responds, without a key with {status}. It names "
        "itself: {name}.",
    ),
    entered.fail(
        "http.anthropic",
        "An API in Anthropic's own format responded ({status}), which is not "
        "OpenAI-compatible.",
        "Use Anthropic's library with this address, or the address of a gateway that "
        "translates. The key has not been sent.",
    ),
    proxy.warn(
        "http.compressed",
        "Readback responded, but something compresses its responses ({coding}) "
        "although the request did not allow it.",
        "Clients that do not decompress cannot read them. Turn compression off in the "
        "proxy.",
    ),
    network.fail(
        "http.no_connection",
        "A second connection could not be opened: {reason}.",
        "Try again. If it keeps failing, the service or a firewall limits the number "
        "of connections.",
    ),
    service.fail(
        "http.silent",
        "The request was sent, but no response arrived within {timeout} s.",
        "Either the service hangs, or a proxy is waiting for a service that is down. "
        "Try a longer --timeout to find out whether it is only slow.",
    ),
    network.fail(
        "http.cut",
        "The connection was closed before a response arrived.",
        "A firewall, a proxy or a crash closed it. Check their logs for this moment.",
    ),
    proxy.fail(
        "http.malformed",
        "Something responded, but not with valid HTTP: {reason}.",
        "Compare the host and port with the address that you were given. If they are "
        "right, look for a proxy or filter that changes the headers of responses.",
    ),
    network.fail(
        "http.cut_short",
        "The response started, but the connection was closed before its end.",
        "A proxy with a size or time limit closed it, or the service crashed.",
    ),
    network.fail(
        "http.stalled",
        "The response started, but the rest did not arrive within {timeout} s.",
        "A proxy or filter is holding it back. Try a longer --timeout to find out "
        "whether it is only slow.",
    ),
    entered.fail(
        "http.tls_port",
        "Port {port} expects TLS, but the address starts with http://.",
        "Use https://.",
    ),
    entered.fail(
        "http.not_http",
        "Port {port} does not speak HTTP.",
        "Compare the port with the address that you were given.",
    ),
    service.fail(
        "http.http2_only",
        "The server speaks only HTTP/2.",
        "Many clients, such as requests and the openai package, speak only HTTP/1.1 by "
        "default. Tell the operator to allow it, or compare the port with the address "
        "that you were given.",
    ),
    proxy.fail(
        "http.garbled",
        "The response is marked as compressed but cannot be decompressed.",
        "A proxy compresses it incorrectly or twice. Turn compression off there.",
    ),
    entered.fail(
        "http.redirect_https",
        "The service redirects to the same address with https://.",
        "Use https:// directly: many clients drop the key or the text on a redirect.",
    ),
    entered.fail(
        "http.redirect",
        "The response is a redirect to {location}.",
        "Compare the address with the one that you were given. Use the final address, "
        "because clients drop the key or the text on a redirect.",
    ),
    network.fail(
        "http.captive_portal",
        "The login page of your network responded instead of the service.",
        "Open any web page in a browser on this machine, log in to the network, and "
        "try again.",
    ),
    proxy.fail(
        "http.proxy_login",
        "A proxy responded and requires a login (407).",
        "Add the user name and password to the proxy's address in the environment "
        "variable.",
    ),
    proxy.fail(
        "http.proxy_page",
        "A proxy responded with its own page: {status} {title}.",
        "Ask the administrator of the proxy to allow this address.",
    ),
    service.fail(
        "http.gateway",
        "A gateway responded with {status}: it cannot reach the service behind it.",
        "The service is down or starting. Try again, then tell the operator.",
    ),
    service.fail(
        "http.server_error",
        "The server responded with {status}, an error of its own.",
        "Tell its operator, whose log has the cause. The key has not been sent, "
        "because the response does not show that this is an API.",
    ),
    entered.fail(
        "http.html",
        "A web page responded, not an API: {status} {title}.",
        "This may be the address of the cabinet or of another web site. Use the "
        "address of the API, which usually ends in /v1.",
    ),
    entered.fail(
        "http.other_api",
        "An API responded with {status}; it is neither Readback nor OpenAI-compatible.",
        "Your key has not been sent to it. Compare the path of the address with the "
        "service's documentation.",
    ),
    proxy.fail(
        "http.other",
        "Something that is not an API responded with {status}.",
        "Compare the host and port with the address that you were given, then look "
        "for a proxy.",
    ),
    proxy.fail(
        "http.parameter_added",
        "Something adds a URL parameter to the requests, so the service refuses them.",
        "Look for a proxy or gateway that adds one for tracking or as a cache key.",
    ),
    proxy.fail(
        "http.path_changed",
        "Something changes the path or method of the requests: {detail}",
        "Look for a gateway that rewrites paths, or for an extra or missing part in "
        "the address.",
    ),
    proxy.fail(
        "http.refused",
        "The service refused a correct request with {code}: {detail}",
        "Something changes the request before it reaches the service. {hint}",
    ),
    machine.fail(
        "http.rate_limited",
        "The service reports too many requests.",
        "Another program uses the same key or network address. Wait {wait} s and try "
        "again.",
    ),
    service.fail(
        "http.unavailable",
        "The service responded with {code}: {detail}",
        "Try again. If it keeps failing, tell the operator the request id: "
        "{request_id}.",
    ),
)
