"""Diagnoses of what answers: HTTP, the key, the rules of the contract."""

from readback.contract import MAX_CONTENT_BYTES, MODEL
from readback.probe.diagnoses.rows import LOOK_BETWEEN, fail, ok, skip, warn
from readback.probe.findings import Culprit, Family

_HTTP = (
    ok("http.readback", "A Readback answers."),
    warn(
        "http.compressed",
        Culprit.PROXY,
        "A Readback answers, and something compresses ({coding}) what nobody asked to "
        "be compressed.",
        "Clients that do not decompress see garbage: turn it off in the proxy.",
    ),
    fail(
        "http.no_connection",
        Family.HTTP,
        Culprit.NETWORK,
        "A further connection cannot be opened: {reason}.",
        "Try again; if it stays, the service or a firewall limits connections.",
    ),
    fail(
        "http.silent",
        Family.HTTP,
        Culprit.SERVICE,
        "The request is sent, and no answer comes within {timeout} s.",
        "A proxy waits for a service that is away, or the service hangs; a longer "
        "--timeout tells slow from silent.",
    ),
    fail(
        "http.cut",
        Family.HTTP,
        Culprit.NETWORK,
        "The connection is cut before an answer comes.",
        "A firewall, a proxy or a crash ends it: look into their logs for this moment.",
    ),
    fail(
        "http.cut_short",
        Family.HTTP,
        Culprit.NETWORK,
        "The answer begins and is cut off in the middle.",
        "A proxy with a size or time limit ends it, or the service crashes.",
    ),
    fail(
        "http.stalled",
        Family.HTTP,
        Culprit.NETWORK,
        "The answer begins, and the rest does not come within {timeout} s.",
        "A proxy or a filter holds it back; a longer --timeout tells slow from stuck.",
    ),
    fail(
        "http.tls_port",
        Family.HTTP,
        Culprit.INPUT,
        "Port {port} speaks TLS, and the address begins with http://.",
        "Use https://.",
    ),
    fail(
        "http.not_http",
        Family.HTTP,
        Culprit.INPUT,
        "Port {port} speaks something that is not HTTP.",
        "Compare the port with the address in the cabinet.",
    ),
    fail(
        "http.garbled",
        Family.HTTP,
        Culprit.PROXY,
        "The answer says that it is compressed, and cannot be decompressed.",
        "A proxy compresses wrongly or twice: turn it off there.",
    ),
    fail(
        "http.redirect_https",
        Family.HTTP,
        Culprit.INPUT,
        "The service sends you to the same address with https://.",
        "Use https://: many clients lose the key or the text on a redirect.",
    ),
    fail(
        "http.redirect",
        Family.HTTP,
        Culprit.INPUT,
        "The answer is a redirect to {location}.",
        "Compare the address with the cabinet; clients lose the key or the text on a "
        "redirect, so the address must be the last one.",
    ),
    fail(
        "http.captive_portal",
        Family.HTTP,
        Culprit.NETWORK,
        "A login page of the network answers in place of the service.",
        "Open any page in a browser here, log in to the network, and try again.",
    ),
    fail(
        "http.proxy_login",
        Family.HTTP,
        Culprit.PROXY,
        "A proxy answers and asks for a login (407).",
        "Put user name and password into the proxy's address in the environment.",
    ),
    fail(
        "http.proxy_page",
        Family.HTTP,
        Culprit.PROXY,
        "A proxy answers with a page of its own: {status} {title}.",
        "Ask whoever runs the proxy to let this address through.",
    ),
    fail(
        "http.gateway",
        Family.HTTP,
        Culprit.SERVICE,
        "A gateway answers {status}: it does not reach the service behind it.",
        "The service is away or being started: try again, then tell the operator.",
    ),
    fail(
        "http.html",
        Family.HTTP,
        Culprit.INPUT,
        "A web page answers, not an API: {status} {title}.",
        "Is this the address of the cabinet or of another site? Copy the one that "
        "the cabinet shows for the API.",
    ),
    fail(
        "http.other_api",
        Family.HTTP,
        Culprit.INPUT,
        "Another API answers with {status}; it is not a Readback.",
        "Your key has not been sent to it. Copy the address from the cabinet.",
    ),
    fail(
        "http.other",
        Family.HTTP,
        Culprit.PROXY,
        "Something that is not a Readback answers with {status}.",
        "Compare host and port with the address in the cabinet; then look for a proxy.",
    ),
    fail(
        "http.parameter_added",
        Family.HTTP,
        Culprit.PROXY,
        "A URL parameter is added to the requests on the way, so they are refused.",
        "Look for a proxy or gateway that adds one, for tracking or as a cache key.",
    ),
    fail(
        "http.path_changed",
        Family.HTTP,
        Culprit.PROXY,
        "The path or method of the requests is changed on the way: {detail}",
        "Look for a gateway that rewrites paths, or for a part too many or too few "
        "in the address.",
    ),
    fail(
        "http.refused",
        Family.HTTP,
        Culprit.PROXY,
        "A correct request is refused with {code}: {detail}",
        "Something changes the request on the way. {hint}",
    ),
    fail(
        "http.rate_limited",
        Family.HTTP,
        Culprit.MACHINE,
        "The service answers that too many requests came.",
        "Another program uses this key or this network address: wait {wait} s.",
    ),
    fail(
        "http.unavailable",
        Family.HTTP,
        Culprit.SERVICE,
        "The service answers {code}: {detail}",
        "Try again; if it stays, tell the operator the request id {request_id}.",
    ),
)

_KEY = (
    ok("key.accepted", "The key is accepted."),
    fail(
        "key.stripped",
        Family.KEY,
        Culprit.PROXY,
        "The key does not arrive: the Authorization header is removed on the way.",
        "Look for a proxy or gateway that drops it or uses it for itself.",
    ),
    fail(
        "key.refused",
        Family.KEY,
        Culprit.INPUT,
        "The key arrives and is not accepted: {detail}",
        "Is it revoked, expired, or of another Readback? Look at the key in the "
        "cabinet, or make a new one there.",
    ),
    fail(
        "key.other_refusal",
        Family.KEY,
        Culprit.PROXY,
        "Something in front of the service asks for a login of its own ({status}).",
        "Ask the operator how to get past it.",
    ),
)

_CONTRACT = (
    ok("models.ok", f"One model, {MODEL}."),
    fail(
        "models.changed",
        Family.HTTP,
        Culprit.PROXY,
        "The list of models is not the one of the contract.",
        LOOK_BETWEEN,
    ),
    ok("limit.refused", "One byte too many is refused, as it must be."),
    warn(
        "limit.refused_elsewhere",
        Culprit.PROXY,
        "One byte too many is refused with {status}, and not by the service.",
        "Something in between has a lower limit of its own.",
    ),
    fail(
        "limit.ignored",
        Family.ECHO,
        Culprit.PROXY,
        f"A text of {MAX_CONTENT_BYTES + 1} bytes is not refused: it was shortened "
        "before it arrived.",
        LOOK_BETWEEN,
    ),
    ok("parameter.refused", "A URL parameter gives 404, as it must."),
    fail(
        "parameter.ignored",
        Family.HTTP,
        Culprit.PROXY,
        "A URL parameter does not give 404: it is removed on the way ({status}).",
        "Look for a proxy or gateway that rewrites addresses.",
    ),
    ok("reuse.ok", "A kept-alive connection is used again."),
    warn(
        "reuse.closed",
        Culprit.PROXY,
        "Each request needs a connection of its own, which costs time.",
        "Look for a proxy that closes connections, and turn keep-alive on there.",
    ),
    ok("cabinet.same", "The cabinet shows this address."),
    skip(
        "cabinet.unknown",
        "The service does not say where its cabinet is.",
        "Use --cabinet URL to compare the address with it.",
    ),
    warn(
        "cabinet.unreachable",
        Culprit.SERVICE,
        "The cabinet at {cabinet} does not tell the address: {reason}.",
        "Compare the address by eye, or give the right one with --cabinet.",
    ),
    warn(
        "cabinet.differs",
        Culprit.INPUT,
        "The cabinet shows another address: {current}.",
        "Use that one, unless you know why yours is different.",
    ),
    fail(
        "cabinet.moved",
        Family.ADDRESS,
        Culprit.INPUT,
        "The service has moved to {current}; yours is the address before.",
        "Change the address in your program to the new one.",
    ),
)

ANSWERING = _HTTP + _KEY + _CONTRACT
