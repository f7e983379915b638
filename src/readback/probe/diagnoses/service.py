"""Diagnoses of what responds: HTTP, acceptance of the key, the contract."""

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.diagnoses.templates import CHECK_BETWEEN, fail, ok, skip, warn
from readback.probe.results import Culprit, FailureFamily

_HTTP = (
    ok("http.readback", "Readback responded."),
    warn(
        "http.compressed",
        Culprit.PROXY,
        "Readback responded, but something compresses its responses ({coding}) "
        "although the request did not allow it.",
        "Clients that do not decompress cannot read them. Turn compression off in the "
        "proxy.",
    ),
    fail(
        "http.no_connection",
        FailureFamily.HTTP,
        Culprit.NETWORK,
        "A second connection could not be opened: {reason}.",
        "Try again. If it keeps failing, the service or a firewall limits the number "
        "of connections.",
    ),
    fail(
        "http.silent",
        FailureFamily.HTTP,
        Culprit.SERVICE,
        "The request was sent, but no response arrived within {timeout} s.",
        "Either the service hangs, or a proxy is waiting for a service that is down. "
        "Try a longer --timeout to find out whether it is only slow.",
    ),
    fail(
        "http.cut",
        FailureFamily.HTTP,
        Culprit.NETWORK,
        "The connection was closed before a response arrived.",
        "A firewall, a proxy or a crash closed it. Check their logs for this moment.",
    ),
    fail(
        "http.cut_short",
        FailureFamily.HTTP,
        Culprit.NETWORK,
        "The response started, but the connection was closed before its end.",
        "A proxy with a size or time limit closed it, or the service crashed.",
    ),
    fail(
        "http.stalled",
        FailureFamily.HTTP,
        Culprit.NETWORK,
        "The response started, but the rest did not arrive within {timeout} s.",
        "A proxy or filter is holding it back. Try a longer --timeout to find out "
        "whether it is only slow.",
    ),
    fail(
        "http.tls_port",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "Port {port} expects TLS, but the address starts with http://.",
        "Use https://.",
    ),
    fail(
        "http.not_http",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "Port {port} does not speak HTTP.",
        "Compare the port with the address in the cabinet.",
    ),
    fail(
        "http.garbled",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "The response is marked as compressed but cannot be decompressed.",
        "A proxy compresses it incorrectly or twice. Turn compression off there.",
    ),
    fail(
        "http.redirect_https",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "The service redirects to the same address with https://.",
        "Use https:// directly: many clients drop the key or the text on a redirect.",
    ),
    fail(
        "http.redirect",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "The response is a redirect to {location}.",
        "Compare the address with the one in the cabinet. Use the final address, "
        "because clients drop the key or the text on a redirect.",
    ),
    fail(
        "http.captive_portal",
        FailureFamily.HTTP,
        Culprit.NETWORK,
        "The login page of your network responded instead of the service.",
        "Open any web page in a browser on this machine, log in to the network, and "
        "try again.",
    ),
    fail(
        "http.proxy_login",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "A proxy responded and requires a login (407).",
        "Add the user name and password to the proxy's address in the environment "
        "variable.",
    ),
    fail(
        "http.proxy_page",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "A proxy responded with its own page: {status} {title}.",
        "Ask the administrator of the proxy to allow this address.",
    ),
    fail(
        "http.gateway",
        FailureFamily.HTTP,
        Culprit.SERVICE,
        "A gateway responded with {status}: it cannot reach the service behind it.",
        "The service is down or starting. Try again, then tell the operator.",
    ),
    fail(
        "http.html",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "A web page responded, not an API: {status} {title}.",
        "This may be the address of the cabinet or of another site. Copy the address "
        "that the cabinet shows for the API.",
    ),
    fail(
        "http.other_api",
        FailureFamily.HTTP,
        Culprit.INPUT,
        "Another API responded with {status}; it is not Readback.",
        "Your key has not been sent to it. Copy the address from the cabinet.",
    ),
    fail(
        "http.other",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "Something that is not Readback responded with {status}.",
        "Compare the host and port with the address in the cabinet, then look for a "
        "proxy.",
    ),
    fail(
        "http.parameter_added",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "Something adds a URL parameter to the requests, so the service refuses them.",
        "Look for a proxy or gateway that adds one for tracking or as a cache key.",
    ),
    fail(
        "http.path_changed",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "Something changes the path or method of the requests: {detail}",
        "Look for a gateway that rewrites paths, or for an extra or missing part in "
        "the address.",
    ),
    fail(
        "http.refused",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "The service refused a correct request with {code}: {detail}",
        "Something changes the request before it reaches the service. {hint}",
    ),
    fail(
        "http.rate_limited",
        FailureFamily.HTTP,
        Culprit.MACHINE,
        "The service reports too many requests.",
        "Another program uses the same key or network address. Wait {wait} s and try "
        "again.",
    ),
    fail(
        "http.unavailable",
        FailureFamily.HTTP,
        Culprit.SERVICE,
        "The service responded with {code}: {detail}",
        "Try again. If it keeps failing, tell the operator the request id: "
        "{request_id}.",
    ),
)

_KEY = (
    ok("key.accepted", "The service accepts the key."),
    fail(
        "key.stripped",
        FailureFamily.KEY,
        Culprit.PROXY,
        "The key does not reach the service: something removes the Authorization "
        "header.",
        "Look for a proxy or gateway that drops the header or uses it for its own "
        "login.",
    ),
    fail(
        "key.refused",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key reaches the service but is not accepted: {detail}",
        "The key may be revoked, expired, or from another Readback server. Check it in "
        "the cabinet, or create a new one there.",
    ),
    fail(
        "key.other_refusal",
        FailureFamily.KEY,
        Culprit.PROXY,
        "Something in front of the service requires its own login ({status}).",
        "Ask the operator how to get access.",
    ),
)

_CONTRACT = (
    ok("models.ok", f"The list contains one model, {MODEL}."),
    fail(
        "models.changed",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "The list of models differs from the contract.",
        CHECK_BETWEEN,
    ),
    ok("limit.refused", "A text one byte over the limit is refused, as it should be."),
    warn(
        "limit.refused_elsewhere",
        Culprit.PROXY,
        "A text one byte over the limit is refused with {status}, but not by the "
        "service.",
        "Something between you and the service has a lower limit.",
    ),
    fail(
        "limit.ignored",
        FailureFamily.ECHO,
        Culprit.PROXY,
        f"A text of {MAX_CONTENT_BYTES + 1} bytes is not refused: it was shortened "
        "before it reached the service.",
        CHECK_BETWEEN,
    ),
    ok(
        "parameter.refused",
        "A request with a URL parameter is refused, as it should be.",
    ),
    fail(
        "parameter.ignored",
        FailureFamily.HTTP,
        Culprit.PROXY,
        "A URL parameter leads to {status} instead of 404: something removes it.",
        "Look for a proxy or gateway that rewrites URLs.",
    ),
    ok("reuse.ok", "The second request used the same connection."),
    warn(
        "reuse.closed",
        Culprit.PROXY,
        "Each request needs a new connection, which costs time.",
        "Look for a proxy that closes connections, and turn on keep-alive there.",
    ),
    ok("cabinet.same", "The cabinet shows this address."),
    skip(
        "cabinet.unknown",
        "The service does not say where its cabinet is.",
        "Use --cabinet URL to compare the address with the cabinet's.",
    ),
    warn(
        "cabinet.unreachable",
        Culprit.SERVICE,
        "The cabinet at {cabinet} did not provide the address: {reason}.",
        "Compare the address yourself, or pass the right cabinet with --cabinet.",
    ),
    warn(
        "cabinet.differs",
        Culprit.INPUT,
        "The cabinet shows a different address: {current}.",
        "Use that one, unless you know why yours differs.",
    ),
    fail(
        "cabinet.moved",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The service has moved to {current}; you are using its previous address.",
        "Change the address in your program to the new one.",
    ),
)

SERVICE = _HTTP + _KEY + _CONTRACT
